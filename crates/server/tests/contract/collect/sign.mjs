// Makes signatures.json: requests as an agent signs them, by software that nobody here wrote. In a folder with
// web-bot-auth 0.1.3 from npm: `node sign.mjs >signatures.json`. The key is a new one each time and is not kept.
import { generateNonce, signatureHeaders } from 'web-bot-auth'
import { signerFromJWK } from 'web-bot-auth/crypto'

const { privateKey } = await crypto.subtle.generateKey({ name: 'Ed25519' }, true, ['sign', 'verify'])
const key = await crypto.subtle.exportKey('jwk', privateKey)
const signer = await signerFromJWK(key)
const agent = '"https://agent.example"'
const now = 1773576000

async function signed(url, { from = now - 10, to = now + 290, nonce = generateNonce(), headers = {}, components } = {}) {
  const request = new Request(url, { headers: { 'Signature-Agent': agent, ...headers } })
  const params = { created: new Date(from * 1000), expires: new Date(to * 1000), nonce, components }
  const made = await signatureHeaders(request, signer, params)
  return { signature: made.Signature, signatureInput: made['Signature-Input'], signatureAgent: agent }
}

const page = 'https://docs.example.com/guide?a=b'
const all = { key: { kty: key.kty, crv: key.crv, x: key.x } }
for (const path of ['event', 'batch', 'header', 'drain', 'beacon', 'late', 'nowhere', 'kept']) all[path] = await signed(page)
all.elsewhere = await signed('https://other.example/guide')
all.expired = await signed(page, { from: now - 4000, to: now - 3700 })
all.whole = await signed(page, { components: ['@authority', '@method', '@path', '@query', 'signature-agent'] })
console.log(JSON.stringify(all, null, 2))
