// Copydesk: tells of page views. Sends the address of the page, without query and fragment, and the project; keeps nothing.
(function () {
  var w = window, d = document, l = location, n = navigator, h = history
  var s = d.currentScript || d.querySelector('script[data-project],script[data-domain]')
  var a = function (k) { return s.getAttribute('data-' + k) }
  var api = a('api') || new URL('../api/event', s.src).href
  // Plausible's words in the name of the file: script.local.manual.js
  var words = s.src.split(/[?#]/)[0].split('/').pop().split('.')
  var local = a('local') != null || words.includes('local')
  var queue = (w.plausible && w.plausible.q) || []
  var last

  function send(u) {
    if (!local && (n.webdriver || /^(localhost|127\..*|\[::1\]|)\.?$/.test(l.hostname))) return
    var b = JSON.stringify({ n: 'pageview', u: u, d: a('project') || a('domain') || l.hostname })
    if (!(n.sendBeacon && n.sendBeacon(api, b))) {
      fetch(api, { method: 'POST', body: b, keepalive: true, credentials: 'omit' }).catch(function () {})
    }
  }

  // Counts a page once it is seen: not while it is hidden or rendered ahead.
  function view() {
    if (d.prerendering || d.visibilityState == 'hidden' || last == l.pathname) return
    last = l.pathname
    send(l.origin + last)
  }

  w.plausible = function (name, o) {
    o = o || {}
    if (name == 'pageview') send(o.u || o.url || l.origin + l.pathname)
    if (o.callback) setTimeout(o.callback)
  }
  queue.forEach(function (q) { w.plausible.apply(w, q) })
  if (words.includes('manual')) return

  if (w.navigation) {
    navigation.addEventListener('currententrychange', function (e) {
      // What replaces an entry is the same page with a better address.
      if (e.navigationType == 'replace' && last) last = l.pathname
      view()
    })
  } else {
    var push = h.pushState
    h.pushState = function () {
      push.apply(h, arguments)
      view()
    }
    w.addEventListener('popstate', view)
  }
  w.addEventListener('pageshow', function (e) {
    if (e.persisted) {
      last = 0
      view()
    }
  })
  d.addEventListener('visibilitychange', view)
  d.addEventListener('prerenderingchange', view)
  view()
})()
