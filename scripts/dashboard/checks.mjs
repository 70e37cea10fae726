// What is asked of every page.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import path from 'node:path'

const require = createRequire(path.join(process.env.NODE_FOLDER, 'x.js'))
export const { chromium } = require('playwright-core')
const axeSource = readFileSync(require.resolve('axe-core/axe.min.js'), 'utf8')

export const WIDTHS = [320, 390, 768, 1280, 2560]

/** Notes what nobody should see: messages, errors, requests elsewhere. `statuses` are those that a page is meant to have, of
 * which the browser tells as well; so it does of a date that is none, of what signing out clears away, and of a fade from page
 * to page that it leaves out when it is busy. */
export const watch = (page, origin, faults, statuses = [422]) => {
  const expected = new RegExp(`status of (${statuses.join('|')}) |does not conform to the required format, "yyyy-MM-dd"|Cleared data types: "cache"`)
  page.on('console', (message) => { if (message.type() !== 'debug' && !expected.test(message.text())) faults.push(`${page.url()}: ${message.text()}`) })
  const fade = /^(InvalidStateError|AbortError|TimeoutError): Transition was (aborted|skipped)/
  page.on('pageerror', (error) => { if (!fade.test(`${error}`)) faults.push(`${page.url()}: ${error}`) })
  page.on('request', (request) => { if (!request.url().startsWith(origin)) faults.push(`${page.url()} asked ${request.url()}`) })
}

export const checkAxe = async (page, what) => {
  await page.evaluate(axeSource)
  const { violations } = await page.evaluate(() => globalThis.axe.run(document, { runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'] }))
  const told = violations.map((it) => `${it.id}: ${it.help}: ${it.nodes.map((node) => node.html).slice(0, 3).join(' | ')}`)
  assert.deepEqual(told, [], `axe on ${what}`)
}

/** What makes a page wider than the window, if it is. */
export const overflow = (page) => page.evaluate(() => {
  const wide = document.documentElement.scrollWidth - innerWidth
  if (wide <= 0) return null
  const clipped = (it) => { for (; it; it = it.parentElement) if (getComputedStyle(it).overflowX !== 'visible') return true; return false }
  const culprit = [...document.querySelectorAll('body *')].find((it) => it.getBoundingClientRect().right > innerWidth + 1 && !clipped(it))
  return `${wide} px too wide: ${culprit?.outerHTML.slice(0, 200)}`
})

export const checkWidths = async (page, what) => {
  for (const width of WIDTHS) {
    await page.setViewportSize({ width, height: 900 })
    assert.equal(await overflow(page), null, `${what} at ${width} px`)
  }
}

export const checkShift = async (page, what) => {
  const shift = await page.evaluate(() => new Promise((resolve) => {
    let sum = 0
    new PerformanceObserver((list) => { for (const it of list.getEntries()) if (!it.hadRecentInput) sum += it.value }).observe({ type: 'layout-shift', buffered: true })
    setTimeout(() => resolve(sum), 100)
  }))
  assert(shift < 0.02, `${what} moves by ${shift}`)
}

/** How many bytes and requests a first visit takes. */
export const weigh = async (context, address) => {
  const page = await context.newPage()
  const session = await context.newCDPSession(page)
  await session.send('Network.enable')
  await session.send('Network.setCacheDisabled', { cacheDisabled: true })
  let bytes = 0, requests = 0
  session.on('Network.loadingFinished', (it) => { bytes += it.encodedDataLength; requests++ })
  await page.goto(address, { waitUntil: 'networkidle' })
  await page.close()
  return { bytes, requests }
}
