// Pictures of the dashboard of a product that does not exist, with jobs in every state and two months of readers.
import assert from 'node:assert/strict'
import { mkdirSync } from 'node:fs'
import path from 'node:path'
import { Gate } from './model.mjs'
import { told, until } from './stage.mjs'

const PROJECT = 'acme-cloud'
const page = (title, description, text) => `---\ntitle: ${title}\ndescription: ${description}\n---\n\n${text}\n`

const PAGES = {
  'docs/index.mdx': page('Welcome', 'What Acme Cloud is.', 'Acme Cloud keeps your files, and shares them with whom you choose.\n\nStart with the [quickstart](/quickstart).'),
  'docs/quickstart.mdx': page('Quickstart', 'Your first bucket in five minutes.', '## Install\n\n```sh\nnpm install @acme/cloud\n```\n\n## Sign in\n\nMake a key in the console and put it into `ACME_KEY`.\n\n## Store a file\n\n```sh\nacme put report.pdf\n```'),
  'docs/guides/keys.mdx': page('API keys', 'How programs sign in.', 'A key belongs to one workspace.\n\n## Make a key\n\nOpen **Settings → Keys** and choose what it may do.\n\n## Revoke a key\n\nA key that is revoked is refused at once.'),
  'docs/guides/webhooks.mdx': page('Webhooks', 'Be told when a file changes.', 'Acme Cloud sends a signed request for every change.\n\n## Verify the signature\n\nCompare the header `Acme-Signature` with your own.'),
  'docs/guides/sharing.mdx': page('Sharing', 'Links, teams and guests.', 'A link can end by itself, and can ask for a password.'),
  'docs/guides/migrate.mdx': page('Migrate from v1', 'What is different in v2.', 'Version 1 is answered until June.\n\nSee [the old reference](/reference/v1).'),
  'docs/reference/limits.mdx': page('Limits', 'How much and how often.', '## Requests\n\nA key may make 100 requests a minute. Beyond that the answer is `429`.\n\n## Files\n\nA file has at most 5 GB.'),
  'docs/reference/errors.mdx': page('Errors', 'Every code and what to do.', '| code | meaning |\n|---|---|\n| `not_found` | There is no such file. |\n| `too_many` | Wait, and try again. |'),
  'docs/reference/cli.mdx': page('Command line', 'Every command.', '## acme put\n\nStores a file.\n\n## acme get\n\nFetches a file.'),
  'docs/docs.json': JSON.stringify({
    $schema: 'https://mintlify.com/docs.json', theme: 'mint', name: 'Acme Cloud', colors: { primary: '#1f5fbf' },
    navigation: { groups: [
      { group: 'Start', pages: ['index', 'quickstart'] },
      { group: 'Guides', pages: ['guides/keys', 'guides/webhooks', 'guides/sharing', 'guides/migrate'] },
      { group: 'Reference', pages: ['reference/limits', 'reference/errors', 'reference/cli'] },
    ] },
  }, null, 2) + '\n',
}

export const acmePages = () => PAGES

/** What people and machines read most, by page. */
const READ = [['/', 20], ['/quickstart', 26], ['/guides/keys', 14], ['/guides/webhooks', 11], ['/guides/sharing', 7], ['/guides/migrate', 8], ['/reference/limits', 12], ['/reference/errors', 9], ['/reference/cli', 6]]
const PEOPLE = ['Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0', 'Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.0 Safari/605.1.15', 'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Safari/537.36']
const AI = [['Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko); compatible; ChatGPT-User/1.0; +https://openai.com/bot', 5], ['Mozilla/5.0 (compatible; Claude-User/1.0; +Claude-User@anthropic.com)', 4], ['Mozilla/5.0 (compatible; Perplexity-User/1.0; +https://perplexity.ai/perplexity-user)', 2], ['Mozilla/5.0 (compatible; MistralAI-User/1.0; +https://docs.mistral.ai/robots)', 1]]
const CRAWLERS = ['Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko; compatible; GPTBot/1.2; +https://openai.com/gptbot)', 'Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)']

/** The same numbers in every run. */
const dice = (seed) => () => (seed = (seed * 1103515245 + 12345) % 2147483648) / 2147483648

const monthsOfViews = () => {
  const roll = dice(7), events = [], now = Date.now()
  const pick = (list) => {
    let left = roll() * list.reduce((sum, [, weight]) => sum + weight, 0)
    return (list.find(([, weight]) => (left -= weight) < 0) ?? list[0])[0]
  }
  for (let day = 59; day >= 0; day--) {
    const date = new Date(now - day * 86_400_000), weekend = [0, 6].includes(date.getUTCDay())
    const people = (weekend ? 45 : 110) + (59 - day) * 0.9 + roll() * 30, ai = (weekend ? 14 : 25) + (59 - day) * 1.1 + roll() * 16
    const view = (path, userAgent) => {
      const at = new Date(date)
      at.setUTCHours(Math.floor(7 + roll() * 13), roll() * 60, roll() * 60, roll() * 1000)
      if (at <= now) events.push({ path, userAgent, timestamp: at.toISOString(), id: `view-${events.length}` })
    }
    for (let at = 0; at < people; at++) view(pick(READ), PEOPLE[Math.floor(roll() * PEOPLE.length)])
    for (let at = 0; at < ai; at++) view(pick(READ), pick(AI))
    for (let at = 0; at < 15; at++) view(pick(READ), CRAWLERS[at % 2])
  }
  return events
}

const edit = (path, old_text, new_text) => ['edit_file', { path, old_text, new_text }]
const finish = (title, summary) => ({ calls: [['finish', { title, summary }]] })

const LIMITS = `## Requests

| plan | requests a minute | burst |
|---|---|---|
| Free | 100 | 20 |
| Team | 1,000 | 200 |

Beyond that the answer is \`429\`, and the header \`Retry-After\` says how long to wait.`

/** Jobs in the order in which they are made; the last one is still at work. */
const playJobs = (model, gate) => {
  const jobs = [
    ['Say in the limits that there are plans now, and what 429 means', [
      { calls: [['plan', { items: ['Read the page about limits', 'Put the limits of both plans into a table', 'Explain the answer 429'] }], ['search', { pattern: '429' }], ['read_file', { path: 'docs/reference/limits.mdx' }]] },
      { calls: [edit('docs/reference/limits.mdx', '## Requests\n\nA key may make 100 requests a minute. Beyond that the answer is `429`.', LIMITS), edit('docs/reference/errors.mdx', '| `too_many` | Wait, and try again. |', '| `too_many` | Wait as long as `Retry-After` says, and try again. |')] },
      { calls: [['check_docs', {}]] },
      finish('Describe the limits of each plan', 'The page about limits has a table of both plans, and says what to do after `429`.\n\n- `docs/reference/limits.mdx`: the table, and `Retry-After`\n- `docs/reference/errors.mdx`: the same for `too_many`'),
    ]],
    ['Is the page about webhooks still right for v2?', [
      { calls: [['read_file', { path: 'docs/guides/webhooks.mdx' }]] },
      finish('', 'Nothing has to be changed: the page names the header and the way to verify it as they are in v2.'),
    ]],
    ['Explain how to rotate a key without an outage', [
      { calls: [['read_file', { path: 'docs/guides/keys.mdx' }]] },
      { calls: [edit('docs/guides/keys.mdx', '## Revoke a key\n\nA key that is revoked is refused at once.', '## Rotate a key\n\n1. Make a second key that may do the same.\n2. Put it into `ACME_KEY` wherever the first one is used.\n3. Wait until **Last used** of the first key stands still.\n4. Revoke the first key.\n\n## Revoke a key\n\nA key that is revoked is refused with the next request.')] },
      finish('Explain how to rotate a key', 'The guide about keys has four steps by which a key is replaced without an outage.'),
    ]],
    ['Shorten the guide about sharing, and link to guests', [
      { calls: [['read_file', { path: 'docs/guides/sharing.mdx' }]] },
      { calls: [edit('docs/guides/sharing.mdx', 'A link can end by itself, and can ask for a password.', 'A link can end by itself, and can ask for a password. [Guests](/guides/guests) see only what is shared with them.')] },
      finish('Link the guide about sharing to guests', 'The guide says what guests see.'),
      finish('Link the guide about sharing to guests', 'The guide says what guests see. The page about guests is not written yet, so that link leads nowhere.'),
    ]],
    ['Translate the quickstart into Portuguese', [{ error: [400, 'You exceeded your current quota, please check your plan and billing details.'] }]],
    ['Write what is different in v2 for those who come from v1', [
      { calls: [['plan', { items: ['Read the guide and the reference', 'List what is gone and what is new', 'Show each call before and after', 'Check links'] }], ['read_file', { path: 'docs/guides/migrate.mdx' }], ['search', { pattern: 'v1' }]] },
      { calls: [edit('docs/guides/migrate.mdx', 'Version 1 is answered until June.', 'Version 1 is answered until 30 June.\n\n| v1 | v2 |\n|---|---|\n| `POST /upload` | `PUT /files/{name}` |\n| `GET /list` | `GET /files` |')] },
      { calls: [['check_docs', {}]], gate },
      finish('Say what is different in v2', 'The guide has a table of calls before and after.'),
      finish('Say what is different in v2', 'The guide has a table of calls before and after.'),
    ]],
  ]
  for (const [prompt, answers] of jobs) model.play(prompt, answers)
  return jobs.map(([prompt]) => prompt)
}

const makeJobs = async (desk, key, model, gate) => {
  const ids = []
  for (const prompt of playJobs(model, gate)) {
    const { id } = await desk.api(key, 'POST', `/v2/agent/${PROJECT}/job`, { prompt })
    ids.push(id)
    if (ids.length === 6) await gate.asked
    else await until(`“${prompt}” ends`, async () => (await desk.api(key, 'GET', `/v2/agent/${PROJECT}/job/${id}`)).status !== 'active')
  }
  return ids
}

/** Makes the project; the server looks at its pages while other checks go on. */
export const makeAcme = (desk, repository) => {
  desk.run('project', 'create', '--name', 'Acme Cloud', '--id', PROJECT, '--repository', repository.folder)
  for (const name of ['Docs pipeline', 'Website']) desk.run('key', 'create', '--project', PROJECT, '--name', name, '--expires', '90d')
}

/** Fills the project, and takes pictures of its pages, light and dark, into the folder. */
export const takePictures = async (browser, desk, email, model, folder) => {
  mkdirSync(folder, { recursive: true })
  const { key } = JSON.parse(desk.run('key', 'create', '--project', PROJECT, '--name', 'Continuous integration', '--json'))
  const views = monthsOfViews()
  while (views.length) {
    const part = views.splice(0, 5000)
    const { accepted } = await desk.api(key, 'POST', `/v1/analytics/${PROJECT}/events`, part)
    assert.equal(accepted, part.length, 'every view is taken')
  }
  const gate = new Gate()
  const ids = await makeJobs(desk, key, model, gate)
  const context = await desk.signedIn(browser, email, { viewport: { width: 1280, height: 800 }, locale: 'en-GB', timezoneId: 'UTC' })
  const page = await context.newPage()
  // A while after the jobs were made.
  await page.clock.setFixedTime(Date.now() + 12 * 60_000)
  const p = `${desk.url}/p/${PROJECT}`
  await page.goto(`${p}/pulls`)
  await page.click('main a:has-text("limits of each plan")')
  await page.click('form[action$="/merge"] button')
  await page.waitForLoadState()
  await until('the pages are checked', async () => { await page.goto(`${p}/pages`); return /Quickstart/.test(await page.textContent('main')) }, 90)
  const taken = {
    overview: p, jobs: `${p}/jobs`, job: `${p}/jobs/${ids[5]}`, 'job-done': `${p}/jobs/${ids[0]}`, changes: `${p}/jobs/${ids[0]}/changes`, 'changes-unified': `${p}/jobs/${ids[0]}/changes?view=unified`,
    views: `${p}/views`, agent: null, pages: `${p}/pages`, pulls: `${p}/pulls?state=all`, pull: `${p}/pulls/2`, keys: `${p}/keys`, settings: `${p}/settings/general`,
  }
  await page.goto(`${p}/views`)
  taken.agent = desk.url + (await page.locator('main aside table a').first().getAttribute('href'))
  for (const [name, address] of Object.entries(taken)) {
    for (const colorScheme of ['light', 'dark']) {
      await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' })
      await page.goto(address)
      const height = Math.min(name === 'job-done' ? 900 : 1240, await page.evaluate(() => document.documentElement.scrollHeight))
      await page.screenshot({ path: path.join(folder, `${name}-${colorScheme}.png`), fullPage: true, clip: { x: 0, y: 0, width: 1280, height }, animations: 'disabled' })
    }
  }
  gate.open()
  await context.close()
  told(`${2 * Object.keys(taken).length} pictures`)
}
