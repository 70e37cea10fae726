// nginx with the piece in `nginx/`, for the tests beside this file.
import assert from 'node:assert/strict'
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import http from 'node:http'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import path from 'node:path'

const here = new URL('.', import.meta.url).pathname

async function freePort() {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address()
  server.close()
  await once(server, 'close')
  return port
}

/** Starts nginx with what `adapted` makes of the piece. `ask` gives the status of a request, `stop` ends it. */
export async function startNginx(adapted) {
  const folder = mkdtempSync(path.join(tmpdir(), 'copydesk-nginx-'))
  cpSync(path.join(here, 'nginx'), folder, { recursive: true })
  const file = path.join(folder, 'copydesk-server.conf')
  writeFileSync(file, adapted(readFileSync(file, 'utf8')))
  const port = await freePort()
  const [conf, log] = [path.join(folder, 'nginx.conf'), path.join(folder, 'error.log')]
  writeFileSync(
    conf,
    `daemon off; pid ${folder}/pid; error_log ${log};
     events {}
     http {
       access_log off; client_body_temp_path ${folder}/body; proxy_temp_path ${folder}/proxy;
       fastcgi_temp_path ${folder}/f; uwsgi_temp_path ${folder}/u; scgi_temp_path ${folder}/s;
       include ${folder}/copydesk-http.conf;
       server {
         listen 127.0.0.1:${port};
         location / { mirror /_copydesk; mirror_request_body off; default_type text/html; alias ${conf}; }
         include ${file};
       }
     }`,
  )
  execFileSync('nginx', ['-t', '-q', '-c', conf, '-e', log])
  const nginx = spawn('nginx', ['-c', conf, '-e', log])
  const ask = (target, headers = {}, method = 'GET') =>
    new Promise((resolve, reject) => {
      const request = http.request({ host: '127.0.0.1', port, path: target, method, headers, agent: false })
      request.on('response', (response) => response.resume().on('end', () => resolve(response.statusCode)))
      request.on('error', reject).end()
    })
  const stop = async () => {
    nginx.kill()
    await once(nginx, 'exit')
    rmSync(folder, { recursive: true })
  }
  // Not a GET, so that it is not told of.
  for (let left = 100; !(await ask('/', {}, 'HEAD').catch(() => 0)); left--) {
    assert.ok(left, readFileSync(log, 'utf8'))
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
  return { port, ask, stop }
}
