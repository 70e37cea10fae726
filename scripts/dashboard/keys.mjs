// The main deeds without a pointer.
import assert from 'node:assert/strict'
import { checkAxe } from './checks.mjs'
import { told, until } from './stage.mjs'

/** What has the focus, in words. */
const focused = (page) => page.evaluate(() => {
  const it = document.activeElement
  return `${it.localName} ${it.id || it.name || ''} ${it.textContent.trim().slice(0, 60)}`
})

/** The focus is on something that is in sight, and drawn. */
const checkSeen = async (page) => {
  const seen = await page.evaluate(() => {
    const it = document.activeElement, box = it.getBoundingClientRect()
    const drawn = it.matches('svg g') || getComputedStyle(it).outlineStyle !== 'none'
    return drawn && box.width > 0 && box.bottom > 0 && box.top < innerHeight
  })
  assert(seen, `the focus can be seen on ${await focused(page)}`)
}

/** Goes on with the tab key until it is there, and sees the focus at every stop. */
const tabTo = async (page, selector) => {
  for (let at = 0; at < 80; at++) {
    await page.keyboard.press('Tab')
    if (await page.evaluate(() => document.activeElement === document.body)) continue
    await checkSeen(page)
    if (await page.evaluate((selector) => document.activeElement.matches(selector), selector)) return
  }
  assert.fail(`the tab key does not lead to ${selector}`)
}

/** A dialog that closes gives the focus back. */
const givesBack = async (page, id, open, close) => {
  const before = await page.evaluate(() => { globalThis.before = document.activeElement; return document.activeElement.localName })
  await page.keyboard.press(open)
  await page.waitForFunction((id) => document.getElementById(id).open, id)
  await checkAxe(page, `the dialog ${id}`)
  await page.keyboard.press(close)
  await page.waitForFunction((id) => !document.getElementById(id).open, id)
  assert(await page.evaluate(() => document.activeElement === globalThis.before), `${id} gives the focus back to ${before}, not to ${await focused(page)}`)
}

export const byKeys = async (browser, desk, email, project) => {
  const context = await browser.newContext()
  const page = await context.newPage()
  await page.goto(desk.link(email))
  await tabTo(page, 'main button.main')
  await page.keyboard.press('Enter')
  await page.waitForURL(`${desk.url}/`)
  await page.goto(`${desk.url}/p/${project}`)
  await page.keyboard.press('Tab')
  assert.match(await focused(page), /Skip to the content/, 'the first stop leads past what is on every page')

  // Letters lead to places, and rows are gone through.
  await page.keyboard.press('g')
  await page.keyboard.press('j')
  await page.waitForURL(/\/jobs$/)
  await page.keyboard.press('j')
  assert(await page.evaluate(() => document.activeElement.matches('[data-row]')), 'j goes to the first row')
  await checkSeen(page)
  for (const [id, open, close] of [['keys', '?', 'Escape'], ['keys', '?', 'Enter'], ['palette', 'Control+k', 'Escape'], ['palette', 'Control+k', 'Control+k']]) await givesBack(page, id, open, close)
  await page.keyboard.press('Enter')
  await page.waitForURL(/\/jobs\/[0-9a-f-]+/)
  await page.keyboard.press('Control+k')
  await page.keyboard.type('views')
  await page.keyboard.press('Enter')
  await page.waitForURL(/\/views/)
  await tabTo(page, 'hover-chart g')
  await page.keyboard.press('ArrowLeft')
  assert.match(await page.textContent('.tip'), /people/, 'the chart is read out by arrow keys')

  // A job is made, and watched.
  await page.keyboard.press('g')
  await page.keyboard.press('j')
  await page.waitForURL(/\/jobs$/)
  await page.keyboard.press('c')
  await page.waitForURL(/\/jobs\/new/)
  await tabTo(page, '[name=prompt]')
  await page.keyboard.type('Fix the typos by keys')
  await tabTo(page, 'main button.main')
  await page.keyboard.press('Enter')
  await page.waitForURL(/\/jobs\/[0-9a-f]+-/)
  await until('the job is watched to its end', async () => (await page.locator('.steps.live').count()) === 0)

  // A key is made and revoked.
  await page.keyboard.press('g')
  await page.keyboard.press('k')
  await page.waitForURL(/\/keys$/)
  await tabTo(page, 'main [name=name]')
  await page.keyboard.type('By keys')
  await page.keyboard.press('Enter')
  await page.waitForSelector('#key')
  await page.goto(`${desk.url}/p/${project}/keys`)
  const row = 'tr:has(strong:text-is("By keys"))'
  const revoke = await page.locator(`${row} a.danger`).getAttribute('href')
  await tabTo(page, `a[href="${revoke}"]`)
  await page.keyboard.press('Enter')
  await page.waitForURL(/\/revoke$/)
  await tabTo(page, 'main button.danger')
  await page.keyboard.press('Enter')
  await page.waitForURL(/\/keys/)
  assert.match(await page.locator(row).textContent(), /revoked/)
  await context.close()
  told('keys alone: a job made, a key revoked, dialogs that give the focus back')
}
