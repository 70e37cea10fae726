// Pages in the states that are not the usual one: empty, refused, asking again, with faults.
import assert from 'node:assert/strict'
import { checkAxe, checkWidths, watch } from './checks.mjs'
import { PASSWORD, told } from './stage.mjs'

export const states = async (browser, desk, email, { full, job, empty }) => {
  const faults = [], seen = []
  const context = await desk.signedIn(browser, email, { viewport: { width: 1280, height: 900 } })
  const page = await context.newPage()
  watch(page, desk.url, faults, [403, 404, 410, 422, 401])
  /** What is on the page now, light and wide, dark and narrow. */
  const look = async (page, what) => {
    seen.push(what)
    await page.mouse.move(0, 0)
    try {
      for (const [colorScheme, width] of [['light', 1280], ['dark', 390]]) {
        await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' })
        await page.setViewportSize({ width, height: 900 })
        await checkAxe(page, `${what}, ${colorScheme}, ${width} px`)
      }
      await checkWidths(page, what)
    } catch (error) { faults.push(error.message) }
    await page.setViewportSize({ width: 1280, height: 900 })
  }
  const visit = async (page, address, status, words) => {
    const answer = await page.goto(desk.url + address)
    assert.equal(answer.status(), status, address)
    assert.match(await page.textContent('main'), words, address)
    await look(page, `${address} (${status})`)
  }
  const send = async (page, address, fields, button, words) => {
    await page.goto(desk.url + address)
    for (const [name, text] of Object.entries(fields)) await page.fill(`main [name=${name}]`, text)
    await page.click(button)
    await page.waitForLoadState()
    assert.match(await page.textContent('main'), words, address)
    await look(page, `${address} sent back`)
  }

  // Nothing there yet.
  const e = `/p/${empty}`, p = `/p/${full}`
  for (const [address, words] of [
    ['', /first/i], ['/jobs', /no job|none|yet/i], ['/views', /No views yet/], ['/pages', /checked|page/i], ['/pulls', /None is open/],
    ['/keys', /none yet/], ['/settings/webhooks', /none yet/], ['/settings/members', /no members yet/],
  ]) await visit(page, e + address, 200, words)

  // Nothing there at all.
  for (const address of ['/p/nobody-has-this', `${p}/jobs/nobody-has-this`]) await visit(page, address, 404, /nothing here/i)

  // Asked whether it is meant.
  const { href: revoke } = await keyLinks(page, desk, p)
  for (const address of [revoke, revoke.replace('revoke', 'rotate')]) await visit(page, address, 200, /\?/)
  await visit(page, `${p}/jobs/${job}/archive`, 200, /\?/)
  await visit(page, `${p}/settings/danger`, 200, /delete/i)

  // Sent back with what is wrong.
  await send(page, '/new', {}, 'main button.main', /Nothing was created yet/)
  await send(page, `${p}/jobs/new`, { prompt: ' ', baseRef: 'no such..branch' }, 'main button.main', /needed/)
  await send(page, `${p}/keys`, { name: 'n'.repeat(201) }, 'main aside button.main', /at most 200/)
  await send(page, `${p}/settings/webhooks`, { url: 'no address' }, 'main aside button.main', /./)
  await send(page, `${p}/settings/general`, { name: ' ' }, 'main form button', /must have/i)
  await send(page, '/me', { present: 'not the password', password: 'short' }, 'form[action="/me/password"] button', /./)
  await visit(page, `${p}/views?from=2026-02-31&to=2026-01-01`, 200, /./).catch(() => visit(page, `${p}/views?from=2026-02-31&to=2026-01-01`, 422, /./))

  // Shown once.
  await send(page, `${p}/keys`, { name: 'Shown once' }, 'main aside button.main', /shown only once/)
  await send(page, `${p}/settings/members`, { note: 'Vic, who only looks' }, 'main aside button.main', /shown only once/)
  const link = (await page.textContent('#link')).trim().replace(/^http:\/\/[^/]*/, desk.url)

  // Somebody who may only look, and a link that is spent.
  const other = await browser.newContext({ viewport: { width: 1280, height: 900 } })
  const viewer = await other.newPage()
  watch(viewer, desk.url, faults, [401, 403, 404, 410, 422])
  await viewer.goto(link)
  await look(viewer, 'an invitation')
  await viewer.fill('[name=name]', 'Vic')
  await viewer.fill('[name=email]', 'vic@example.com')
  await viewer.fill('[name=password]', PASSWORD)
  await viewer.click('main button.main')
  await viewer.waitForURL(/\/(p\/[^/]*)?(\?.*)?$/)
  await visit(viewer, `${p}/settings/danger`, 403, /role does not allow/i)
  await visit(viewer, p, 200, /./)
  await visit(viewer, `${p}/jobs/${job}`, 200, /./)
  await other.clearCookies()
  await viewer.goto(link)
  assert.match(await viewer.textContent('main'), /used|spent|over|no longer|taken/i, 'the link is spent')
  await look(viewer, 'a link that is spent')
  await viewer.goto(`${desk.url}/sign-in`)
  await look(viewer, 'sign-in')
  await viewer.fill('[name=email]', 'vic@example.com')
  await viewer.fill('[name=password]', 'not the password')
  await viewer.click('main button.main')
  await viewer.waitForSelector('main .wrong')
  await look(viewer, 'sign-in with a wrong password')
  await other.close()
  await context.close()
  assert.deepEqual(faults, [], 'nothing to complain of')
  told(`${seen.length} other states, light at 1280 px and dark at 390 px, axe`)
}

const keyLinks = async (page, desk, p) => {
  await page.goto(`${desk.url}${p}/keys`)
  return { href: await page.locator('a.danger[href$="/revoke"]').first().getAttribute('href') }
}
