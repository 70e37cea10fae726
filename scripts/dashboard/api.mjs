// The page of the interface: "Try it out" begins with values that work.
import assert from 'node:assert/strict'
import { told } from './stage.mjs'

/** An operation of the page, opened. */
const opened = async (page, id) => {
  const block = page.locator(`.opblock[id$="-${id}"]`)
  await block.scrollIntoViewIfNeeded()
  if (!(await block.evaluate((it) => it.classList.contains('is-open')))) await block.locator('.opblock-summary-control').click()
  await block.locator('button.execute').waitFor()
  return block
}

/** What stands in the field of a parameter. */
const given = (block, name) => block.locator(`tr[data-param-name="${name}"] input`).inputValue()

/** Sends what is there, and gives back the status and the body of the answer. */
const executed = async (page, block) => {
  const answered = page.waitForResponse((answer) => /\/v[12]\//.test(new URL(answer.url()).pathname))
  await block.locator('button.execute').click()
  const answer = await answered
  return { status: answer.status(), url: new URL(answer.url()), body: await answer.json().catch(() => null) }
}

export const apiPage = async (browser, desk, email, project, key) => {
  const context = await desk.signedIn(browser, email)
  const page = await context.newPage()
  await page.goto(`${desk.url}/docs/`)
  await page.locator('.authorize').first().click()
  await page.locator('.modal-ux input').fill(key)
  await page.locator('.modal-ux button[type=submit]').click()
  await page.locator('.modal-ux .btn-done').click()

  // Without a word typed: the project of whoever is signed in, a body that is taken.
  const create = await opened(page, 'createJob')
  assert.equal(await given(create, 'projectId'), project, 'the project that they can see')
  const made = await executed(page, create)
  assert.equal(made.status, 201, JSON.stringify(made.body))

  // What was made is what the other operations are about.
  const get = await opened(page, 'getJob')
  await page.waitForFunction((id) => document.querySelector('.opblock[id$="-getJob"] tr[data-param-name="id"] input')?.value === id, made.body.id)
  const found = await executed(page, get)
  assert.equal(found.status, 200)
  assert.equal(found.body.id, made.body.id)
  assert.equal((await executed(page, await opened(page, 'jobDiff'))).status, 200)
  const list = await executed(page, await opened(page, 'listJobs'))
  assert.equal(list.status, 200, JSON.stringify(list.body))

  // What ends something is not one click away either, though the job is known.
  assert.equal(await given(await opened(page, 'messageJob'), 'id'), made.body.id)
  for (const id of ['cancelJob', 'archiveJob', 'revokePullLink']) {
    assert.equal(await given(await opened(page, id), 'id'), '', id)
  }

  const views = await opened(page, 'getPageViews')
  const days = (Date.now() - Date.parse(await given(views, 'dateFrom'))) / 86_400_000
  assert(days > 29 && days < 32, 'the last 30 days')
  const counted = await executed(page, views)
  assert.equal(counted.status, 200, `${counted.url.search} ${JSON.stringify(counted.body)}`)
  const sent = await executed(page, await opened(page, 'sendEvents'))
  assert.equal(sent.status, 200, JSON.stringify(sent.body))

  // Nothing that changes or deletes a project is one click away.
  for (const id of ['deleteProject', 'changeProject', 'setCredential', 'deleteCredential', 'deleteWebhook']) {
    assert.equal(await given(await opened(page, id), 'projectId'), '', id)
  }

  // A link may name the project; a stranger gets that of the demonstration.
  await page.goto(`${desk.url}/docs/index.html?project=other`)
  assert.equal(await given(await opened(page, 'createJob'), 'projectId'), 'other')
  const stranger = await (await browser.newContext()).newPage()
  await stranger.goto(`${desk.url}/docs/`)
  assert.equal(await given(await opened(stranger, 'createJob'), 'projectId'), 'acme-docs')
  await stranger.context().close()
  await context.close()
  told('the page of the interface sends what works as it stands')
}
