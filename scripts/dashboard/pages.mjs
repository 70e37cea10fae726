// What holds for every page, and for pages that watch a job while servers and connections come to an end.
import assert from 'node:assert/strict'
import { WIDTHS, checkAxe, checkShift, checkWidths, watch, weigh } from './checks.mjs'
import { told, until } from './stage.mjs'

/** Every page, in every width, light and dark. */
export const everyPage = async (browser, desk, email, addresses) => {
  for (const colorScheme of ['light', 'dark']) {
    const context = await desk.signedIn(browser, email, { colorScheme, viewport: { width: 1280, height: 900 } })
    const page = await context.newPage()
    const faults = []
    watch(page, desk.url, faults)
    // All that is wrong is told at once.
    const tried = async (check) => { try { await check() } catch (error) { faults.push(error.message) } }
    for (const address of addresses) {
      await page.setViewportSize({ width: 1280, height: 900 })
      await page.goto(desk.url + address)
      await tried(() => checkShift(page, address))
      await tried(() => checkAxe(page, `${address} ${colorScheme}`))
      await page.setViewportSize({ width: 390, height: 844 })
      await tried(() => checkAxe(page, `${address} ${colorScheme} at 390 px`))
      if (colorScheme === 'light') {
        await tried(() => checkWidths(page, address))
        const { bytes } = await weigh(context, desk.url + address)
        await tried(() => assert(bytes < 40 * 1024, `${address} takes ${bytes} bytes`))
      }
    }
    assert.deepEqual(faults, [], 'no message, no request elsewhere')
    await context.close()
  }
  told(`${addresses.length} pages, light and dark, ${WIDTHS.join(', ')} px, axe`)
}

/** The server is killed while a page is open: it says so, and goes on without missing or doubling a step. */
export const killed = async (browser, desk, email, project) => {
  const context = await desk.signedIn(browser, email)
  const page = await context.newPage()
  await page.goto(`${desk.url}/p/${project}/jobs/new`)
  await page.fill('[name=prompt]', 'Fix the typos')
  await page.click('main button.main')
  await page.waitForURL(/\/jobs\/[0-9a-f-]+/)
  desk.server.child.kill('SIGKILL')
  await desk.server.gone
  await desk.serve()
  await until('the job ends on the page by itself', async () => /pull request|no change|completed/.test(await page.textContent('#state')), 90)
  const live = await page.locator('.steps > li').evaluateAll((all) => all.map((step) => step.id))
  assert.equal(new Set(live).size, live.length, 'no step twice')
  await page.reload()
  const fresh = await page.locator('.steps > li').evaluateAll((all) => all.map((step) => step.id))
  assert.deepEqual(live, fresh, 'no step missing')
  await context.close()
  told('a server killed under an open page')
}

/** Eight pages that watch jobs leave a ninth loading: a browser has six connections to a server. */
export const eightTabs = async (browser, desk, email, project) => {
  const context = await desk.signedIn(browser, email)
  for (let at = 0; at < 8; at++) {
    const page = await context.newPage()
    await page.goto(`${desk.url}/p/${project}/jobs/new`)
    await page.fill('[name=prompt]', `Fix the typos ${at}`)
    await page.click('main button.main')
    await page.waitForURL(/\/jobs\/[0-9a-f-]+/)
  }
  const ninth = await context.newPage()
  await ninth.goto(`${desk.url}/p/${project}/keys`, { timeout: 15_000 })
  await context.close()
  told('eight pages that watch, and a ninth')
}
