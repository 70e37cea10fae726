// A change of 100 files and 10,000 lines, over a slow network.
import assert from 'node:assert/strict'
import { checkWidths, weigh } from './checks.mjs'
import { told, until } from './stage.mjs'

const FILES = 100, LINES = 100
const file = (number) => `docs/reference/page-${String(number).padStart(3, '0')}.md`
const line = (number, at, word) => `The ${word} of part ${at} in section ${number} is set once, and is kept until somebody changes it.`
const page = (number, changed) => {
  const lines = Array.from({ length: LINES }, (_, at) => line(number, at, changed && at % 2 ? 'size' : 'value'))
  return `# Section ${number}\n\n${lines.join('\n')}\n`
}

/** The pages as they are before. */
export const largePages = () => Object.fromEntries(Array.from({ length: FILES }, (_, number) => [file(number), page(number, false)]))

/** Has the model make the change, and waits for its pull request. */
export const makeLargeChange = async (desk, key, project, model) => {
  const writes = Array.from({ length: FILES }, (_, number) => ['write_file', { path: file(number), text: page(number, true) }])
  const answers = []
  while (writes.length) answers.push({ calls: writes.splice(0, 25) })
  model.play('say size', [...answers, { calls: [['finish', { title: 'Say size', summary: 'Every second value is a size.' }]] }])
  const { id } = await desk.api(key, 'POST', `/v2/agent/${project}/job`, { prompt: 'Please say size in the reference' })
  return until('the large job ends', async () => {
    const job = await desk.api(key, 'GET', `/v2/agent/${project}/job/${id}`)
    assert.notEqual(job.status, 'failed', JSON.stringify(job))
    return job.status === 'completed' && job
  }, 120)
}

/** Lighthouse's slow 4G. */
const SLOW = { offline: false, latency: 150, downloadThroughput: 1.6e6 / 8, uploadThroughput: 750e3 / 8 }

const measure = async (context, address, rate) => {
  const page = await context.newPage()
  await page.addInitScript(() => {
    const seen = (globalThis.seen = { blocked: 0, shift: 0 })
    new PerformanceObserver((list) => { for (const it of list.getEntries()) seen.blocked += Math.max(0, it.duration - 50) }).observe({ type: 'longtask', buffered: true })
    new PerformanceObserver((list) => { for (const it of list.getEntries()) seen.shift += it.value }).observe({ type: 'layout-shift', buffered: true })
    const look = () => {
      const button = document.querySelector('main a.button.main.push'), box = button?.getBoundingClientRect()
      if (box && box.width && box.bottom < innerHeight && performance.getEntriesByName('first-contentful-paint').length) seen.buttons = performance.now()
      else requestAnimationFrame(look)
    }
    requestAnimationFrame(look)
  })
  const session = await context.newCDPSession(page)
  await session.send('Network.enable')
  await session.send('Network.setCacheDisabled', { cacheDisabled: true })
  await session.send('Network.emulateNetworkConditions', SLOW)
  await session.send('Emulation.setCPUThrottlingRate', { rate })
  await page.goto(address, { waitUntil: 'networkidle' })
  await page.waitForFunction(() => globalThis.seen.buttons)
  const found = await page.evaluate(() => {
    const [{ responseStart: answer, domContentLoadedEventEnd: parsed }] = performance.getEntriesByType('navigation')
    return { ...globalThis.seen, answer, parsed, paint: performance.getEntriesByName('first-contentful-paint')[0].startTime }
  })
  await page.close()
  return Object.fromEntries(Object.entries(found).map(([name, value]) => [name, name === 'shift' ? value : Math.round(value)]))
}

/** How long the page takes is told, not judged: that is a matter of the machine. What is sent is judged. */
export const largeChange = async (browser, desk, email, project, job) => {
  const context = await desk.signedIn(browser, email, { viewport: { width: 1280, height: 900 } })
  const address = `${desk.url}/p/${project}/jobs/${job.id}/changes`
  for (const view of ['read', 'unified', 'side']) {
    const { bytes, requests } = await weigh(context, `${address}?view=${view}`)
    for (const rate of view === 'read' ? [1, 4] : [1]) {
      const it = await measure(context, `${address}?view=${view}`, rate)
      told(`10,000 lines as ${view} in slow 4G, processor ${rate}x: first paint ${it.paint} ms (answer after ${it.answer}), buttons ${it.buttons} ms, parsed ${it.parsed} ms, blocked ${it.blocked} ms; ${bytes} bytes, ${requests} requests`)
      assert(it.shift < 0.02, `it moves by ${it.shift}`)
    }
    assert(bytes < 40 * 1024, `${view} takes ${bytes} bytes`)
    assert(requests <= 5, `${view} takes ${requests} requests`)
  }
  const page = await context.newPage()
  await page.goto(`${address}?view=unified`)
  assert.match(await page.textContent('main'), /100 files, \+5,000 −5,000/)
  await readsWell(page)
  await opensMore(page)
  await context.close()
  told('a change of 100 files and 10,000 lines')
}

/** The text of a diff has most of its width, also when the window becomes narrow after it was wide. */
const readsWell = async (page) => {
  for (const width of [1280, 390]) {
    await page.setViewportSize({ width, height: 900 })
    const shares = await page.locator('table.diff').evaluateAll((all) => all.map((table) => {
      const box = table.getBoundingClientRect(), text = table.querySelector('tr:not(.h) td:last-child').getBoundingClientRect()
      return box.right <= innerWidth ? text.width / box.width : 0
    }))
    assert(shares.length > 3, 'some files are open')
    const least = Math.min(...shares)
    assert(least >= 0.7, `at ${width} px the text has ${least} of the width`)
    told(`at ${width} px the text of a diff has ${Math.round(100 * least)} % of its width`)
  }
  await checkWidths(page, 'the large change')
}

/** A file that was not sent at first is fetched when somebody opens it. */
const opensMore = async (page) => {
  const last = page.locator('details.file').last()
  assert.equal(await last.locator('tr').count(), 0)
  await last.locator('summary').click()
  await until('the last file is there', async () => (await last.locator('tr.i').count()) === LINES / 2)
}
