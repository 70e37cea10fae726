// A worker that is killed while somebody watches its job.
import assert from 'node:assert/strict'
import { watch } from './checks.mjs'
import { Gate } from './model.mjs'
import { told, until } from './stage.mjs'

const FINISH = { title: 'Name the limits', summary: 'Added a paragraph about limits to docs/limits.md.' }

/** The page shows by itself that the worker is lost and that another goes on, and never that something is wrong. Returns the
 * worker that is left. */
export const workerKilled = async (browser, desk, email, project, model) => {
  const gate = new Gate()
  model.play('name the limits', [
    { calls: [['plan', { items: ['Read the page about limits', 'Name the limits'] }], ['read_file', { path: 'docs/limits.md' }]] },
    { calls: [['edit_file', { path: 'docs/limits.md', old_text: 'There are limits.', new_text: 'There are limits: 100 requests a minute.' }]], gate },
    { calls: [['finish', FINISH]] },
  ])
  const first = desk.worker()
  const context = await desk.signedIn(browser, email)
  const page = await context.newPage()
  const faults = []
  watch(page, desk.url, faults)
  await page.goto(`${desk.url}/p/${project}/jobs/new`)
  await page.fill('[name=prompt]', 'Please name the limits')
  await page.click('main button.main')
  await page.waitForURL(/\/jobs\/[0-9a-f-]+/)
  await page.evaluate(() => {
    const gone = document.querySelector('[data-gone]')
    new MutationObserver(() => { if (!gone.hidden) (globalThis.wasGone ??= []).push(document.querySelector('.steps').lastElementChild.textContent) }).observe(gone, { attributes: true })
    globalThis.sameDocument = true
  })
  await gate.asked
  await until('what was done is on the page', async () => /read_file/.test(await page.textContent('.steps')))
  first.child.kill('SIGKILL')
  await first.gone
  const second = desk.worker()
  const broke = page.locator('.steps > li.broke')
  await until('the page tells that the worker is lost', async () => (await broke.count()) > 0)
  assert.match(await broke.first().textContent(), /Worker lost/)
  const mark = await broke.first().locator('.dot').evaluate((dot) => getComputedStyle(dot, '::after').transform)
  assert.notEqual(mark, 'none', 'its mark is a diamond')
  await until('another takes it up', async () => /Resumed/.test(await page.textContent('.steps')))
  gate.open()
  await until('the job ends on the page', async () => /pull request/.test(await page.textContent('#state')))
  assert.match(await page.textContent('.steps'), /1 answer of the model is used again/)
  assert.deepEqual(await page.evaluate(() => [globalThis.sameDocument, globalThis.wasGone]), [true, undefined], 'without a reload, and without an error')
  const asked = model.asked.filter((it) => it.phrase === 'name the limits').map((it) => it.place)
  assert.deepEqual(asked, [0, 1, 1, 2], 'only the answer that was not there is asked for again')
  const live = await page.locator('.steps > li').evaluateAll((all) => all.map((step) => step.id))
  await page.reload()
  const fresh = await page.locator('.steps > li').evaluateAll((all) => all.map((step) => step.id))
  assert.deepEqual(live, fresh, 'no step missing, none twice')
  assert.deepEqual(faults, [], 'nothing to complain of')
  await context.close()
  told('a worker killed under an open page')
  return second
}
