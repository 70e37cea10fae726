// Run by scripts/dashboard-test: the dashboard in Chromium, as people use it, against servers and workers that it starts itself.
import assert from 'node:assert/strict'
import { apiPage } from './dashboard/api.mjs'
import { chromium } from './dashboard/checks.mjs'
import { hostile, hostilePages } from './dashboard/hostile.mjs'
import { byKeys } from './dashboard/keys.mjs'
import { largeChange, largePages, makeLargeChange } from './dashboard/large.mjs'
import { Model } from './dashboard/model.mjs'
import { eightTabs, everyPage, killed } from './dashboard/pages.mjs'
import { acmePages, makeAcme, takePictures } from './dashboard/pictures.mjs'
import { Desk, makeRepository } from './dashboard/stage.mjs'
import { states } from './dashboard/states.mjs'
import { story } from './dashboard/story.mjs'
import { twoServers } from './dashboard/two.mjs'
import { workerKilled } from './dashboard/worker.mjs'

const pictures = process.env.SCREENSHOTS

/** A server of its own, without a model: the story, and what holds for every page. */
const plain = async (browser, desk) => {
  const repository = makeRepository('docs-repository', {
    'docs/index.md': '# Welcome\n\nAcme Cloud is a place for files. You recieve an address.\n\nSee [the guide](guide.md).\n',
    'docs/guide.md': '# Guide\n\nFirst open Acme Cloud.\n\n## Limits\n\nThere is [no such page](gone.md).\n',
  })
  const server = await desk.serve()
  assert.match(server.said, /\/join\//, 'the first start prints a link')
  const { project, email } = await story(browser, desk, repository, { scripts: true })
  repository.commit('Write more', { 'docs/more.md': '# More\n\nIt is neccessary.\n' })
  await story(browser, desk, repository, { scripts: false })
  const { key } = JSON.parse(desk.run('key', 'create', '--project', project, '--json'))
  const { jobs: [{ id: job }] } = await desk.api(key, 'GET', `/v2/agent/${project}/jobs`)
  await apiPage(browser, desk, email, project, key)
  const p = `/p/${project}`, j = `${p}/jobs/${job}`
  await everyPage(browser, desk, email, [
    '/', '/me', '/people', '/server', '/new', p, `${p}/jobs`, `${p}/jobs/new`, j, `${j}/changes`, `${j}/changes?view=unified`,
    `${j}/checks`, `${j}/talk`, `${p}/views`, `${p}/pages`, `${p}/pulls`, `${p}/pulls/1`, `${p}/keys`,
    ...['general', 'repository', 'model', 'checks', 'collection', 'webhooks', 'members', 'audit', 'danger'].map((it) => `${p}/settings/${it}`),
  ])
  desk.run('project', 'create', '--name', 'Empty', '--id', 'empty', '--repository', repository.folder)
  await states(browser, desk, email, { full: project, job, empty: 'empty' })
  await byKeys(browser, desk, email, project)
  await eightTabs(browser, desk, email, project)
  await killed(browser, desk, email, project)
}

/** A server that runs no jobs, workers beside it, and a model that does what it is told. */
const scripted = async (browser, desk, model) => {
  const email = 'ada@example.com', project = 'reference'
  const repository = makeRepository('reference-repository', { 'docs/limits.md': '# Limits\n\nThere are limits.\n', ...largePages() })
  await desk.serve()
  desk.addAdministrator(email, 'Ada Lovelace')
  desk.run('project', 'create', '--name', 'Reference', '--id', project, '--repository', repository.folder)
  if (pictures) makeAcme(desk, makeRepository('acme-repository', acmePages()))
  const { key } = JSON.parse(desk.run('key', 'create', '--project', project, '--json'))
  await workerKilled(browser, desk, email, project, model)
  await largeChange(browser, desk, email, project, await makeLargeChange(desk, key, project, model))
  await hostile(browser, desk, email, { project: 'hostile', repository: makeRepository('hostile-repository', hostilePages()) }, model)
  if (pictures) await takePictures(browser, desk, email, model, pictures)
}

const model = new Model()
await model.listen()
const desks = [new Desk('plain'), new Desk('scripted', { ...model.settings(), COPYDESK_RUNNER__LEASE: '2s', COPYDESK_WEBHOOKS__ALLOW_PRIVATE: 'true' }, ['--workers', '0'])]
const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium', args: ['--headless', '--no-sandbox', '--disable-gpu'] })
try {
  await plain(browser, desks[0])
  await scripted(browser, desks[1], model)
  await twoServers(browser, 20_000 + (process.pid % 10_000))
  assert.deepEqual(model.faults, [], 'the model was asked nothing that it does not expect')
} finally {
  await browser.close()
  for (const desk of desks) await desk.stop()
  model.close()
}
