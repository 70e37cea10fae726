// Tells Copydesk of every page of a Next.js site. Put it beside `app` or `pages` (from Next.js 16 on the file is called
// proxy.js and the function proxy), and set COPYDESK_URL, COPYDESK_PROJECT and COPYDESK_KEY, a key that may write.
//
// It runs before the page is made, so it does not know the status: pages that are not found are counted too. A log drain
// (docs/page-views.md) does not have that fault; use one of the two, not both.

export const config = {
  matcher: [
    {
      source: '/((?!_next/|api/|.*\\.(?:js|css|map|json|xml|ico|png|jpe?g|gif|svg|webp|avif|woff2?)$).*)',
      // What is fetched ahead is no view.
      missing: [
        { type: 'header', key: 'next-router-prefetch' },
        { type: 'header', key: 'purpose', value: 'prefetch' },
        { type: 'header', key: 'sec-purpose' },
      ],
    },
  ],
}

export function middleware(request, event) {
  if (request.method === 'GET') event.waitUntil(tell(request))
}

async function tell(request) {
  const header = (name) => request.headers.get(name) || undefined
  const view = {
    path: request.nextUrl.pathname + request.nextUrl.search,
    method: request.method,
    userAgent: header('user-agent'),
    accept: header('accept'),
    ip: (header('x-real-ip') || header('x-forwarded-for') || '').split(',')[0].trim() || undefined,
    // Agents that sign their requests (Web Bot Auth) are known by that. It counts for the project's domains.
    authority: header('x-forwarded-host') || header('host'),
    signature: header('signature'),
    signatureInput: header('signature-input'),
    signatureAgent: header('signature-agent'),
    timestamp: Date.now(),
    id: header('x-vercel-id') || crypto.randomUUID(),
  }
  const { COPYDESK_URL, COPYDESK_PROJECT, COPYDESK_KEY } = process.env
  await fetch(`${COPYDESK_URL}/v1/analytics/${COPYDESK_PROJECT}/events`, {
    method: 'POST',
    headers: { authorization: `Bearer ${COPYDESK_KEY}`, 'content-type': 'application/json' },
    body: JSON.stringify(view),
  }).catch(() => {})
}
