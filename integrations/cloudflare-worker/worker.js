// Tells Copydesk of every page that this Worker passes on. Nobody waits for it, and a page is never lost because of it.
//
// Set up: a route such as docs.example.com/* on this Worker, the variables COPYDESK_URL (https://copydesk.example.com) and
// COPYDESK_PROJECT (docs), and the secret COPYDESK_KEY, a key that may write: `wrangler secret put COPYDESK_KEY`.

export default {
  async fetch(request, env, ctx) {
    const response = await fetch(request)
    if (isPage(request, response)) ctx.waitUntil(tell(request, response, env))
    return response
  },
}

// Copydesk judges for itself; this only saves it requests that cannot be views.
function isPage(request, response) {
  const type = response.headers.get('content-type') || ''
  const ahead = /prefetch|prerender/.test(request.headers.get('sec-purpose') || request.headers.get('purpose') || '')
  return request.method === 'GET' && !ahead && /^text\/(html|markdown|plain)/.test(type)
}

async function tell(request, response, env) {
  const header = (name) => request.headers.get(name) || undefined
  const event = {
    url: request.url,
    userAgent: header('user-agent'),
    accept: header('accept'),
    ip: header('cf-connecting-ip'),
    method: request.method,
    // Agents that sign their requests (Web Bot Auth) are known by that; the host of the url is what they signed for.
    signature: header('signature'),
    signatureInput: header('signature-input'),
    signatureAgent: header('signature-agent'),
    status: response.status,
    timestamp: Date.now(),
    // The id of the request, so that a view that is sent twice counts once.
    id: header('cf-ray') || crypto.randomUUID(),
  }
  const send = () =>
    fetch(`${env.COPYDESK_URL}/v1/analytics/${env.COPYDESK_PROJECT}/events`, {
      method: 'POST',
      headers: { authorization: `Bearer ${env.COPYDESK_KEY}`, 'content-type': 'application/json' },
      body: JSON.stringify(event),
    }).catch(() => ({ status: 503 }))
  if ((await send()).status === 503) await send()
}
