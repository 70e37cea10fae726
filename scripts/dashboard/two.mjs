// Two servers on one database behind one address, of which one is killed while people are signed in.
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { Desk, PASSWORD, told, until } from './stage.mjs'

const { WORK: work, POSTGRES: postgres } = process.env

/** nginx before both, which asks the other when one does not answer. */
const balance = (port, ports) => {
  const folder = path.join(work, 'nginx')
  mkdirSync(folder)
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map((it) => `${it}_temp_path ${folder}/${it};`).join(' ')
  writeFileSync(path.join(folder, 'nginx.conf'), `
daemon off; master_process off; pid ${folder}/pid; events { worker_connections 256; }
http { access_log off; ${temporary}
  upstream desks { ${ports.map((it) => `server 127.0.0.1:${it} max_fails=1 fail_timeout=2s;`).join(' ')} }
  server { listen 127.0.0.1:${port}; location / { proxy_pass http://desks; proxy_set_header Host $host:$server_port; proxy_next_upstream error timeout; } } }
`)
  return spawn('nginx', ['-p', folder, '-c', path.join(folder, 'nginx.conf'), '-e', path.join(folder, 'error.log')], { stdio: 'ignore' })
}

const join = async (page, link, email) => {
  await page.goto(link)
  await page.fill('[name=name]', email.split('@')[0])
  await page.fill('[name=email]', email)
  await page.fill('[name=password]', PASSWORD)
  await page.click('main button.main')
  await page.waitForURL((url) => !url.pathname.startsWith('/join'))
}

/** Looks at a page often enough to have come to both servers. */
const always = async (page, address, status) => {
  for (let at = 0; at < 6; at++) assert.equal((await page.goto(address)).status(), status, `${address}, time ${at}`)
}

export const twoServers = async (browser, port) => {
  const origin = `http://127.0.0.1:${port}`
  const settings = { COPYDESK_DATABASE_URL: postgres, COPYDESK_PUBLIC_URL: origin, COPYDESK_RUNNER__WORKERS: '0' }
  const desks = [new Desk('one', settings), new Desk('two', settings)]
  for (const desk of desks) await desk.serve()
  const nginx = balance(port, desks.map((desk) => desk.port))
  try {
    await until('nginx answers', () => fetch(`${origin}/healthz`).then((it) => it.ok).catch(() => false))
    const [owner, guest] = [await (await browser.newContext()).newPage(), await (await browser.newContext()).newPage()]
    await join(owner, desks[0].run('user', 'link').trim(), 'ada@example.com')
    desks[1].run('project', 'create', '--name', 'Docs', '--id', 'docs', '--repository', 'https://example.com/docs.git', '--base-ref', 'main')
    const members = `${origin}/p/docs/settings/members`
    await owner.goto(members)
    await owner.fill('[name=note]', 'for Bob')
    await owner.selectOption('[name=as]', 'viewer')
    await owner.click('form[action$="/invite"] button')
    const invitation = (await owner.content()).match(/http:\/\/[^<"\s]*\/join\/[0-9a-z]+/)[0]
    await join(guest, invitation, 'bob@example.com')
    await always(guest, `${origin}/p/docs/jobs`, 200)
    await always(guest, `${origin}/p/docs/jobs/new`, 403)
    const again = await browser.newContext()
    assert.equal((await (await again.newPage()).goto(invitation)).status(), 404, 'a link lets in once, whichever server is asked')

    desks[0].server.child.kill('SIGKILL')
    await desks[0].server.gone
    await always(owner, members, 200)
    await owner.selectOption('tr:has-text("bob@example.com") select', 'editor')
    await owner.click('tr:has-text("bob@example.com") form[action$="/role"] button')
    await always(guest, `${origin}/p/docs/jobs/new`, 200)

    await desks[0].serve()
    await new Promise((resolve) => setTimeout(resolve, 2500)) // nginx looks again after 2 s.
    await owner.goto(members)
    await owner.selectOption('tr:has-text("bob@example.com") select', 'viewer')
    await owner.click('tr:has-text("bob@example.com") form[action$="/role"] button')
    await always(guest, `${origin}/p/docs/jobs/new`, 403)
    // Signed out everywhere, and no server lets the old cookies in.
    const other = await (await browser.newContext({ storageState: await guest.context().storageState() })).newPage()
    await guest.goto(`${origin}/me`)
    await guest.click('form[action="/me/sessions/end"] button')
    for (let at = 0; at < 6; at++) {
      await other.goto(`${origin}/p/docs/jobs`)
      assert.match(other.url(), /\/sign-in/, `time ${at}`)
    }
    told('two servers behind one address, one of them killed')
  } finally {
    nginx.kill('SIGTERM')
    for (const desk of desks) await desk.stop()
  }
}
