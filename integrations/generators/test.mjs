// node --test integrations/generators/test.mjs: a small site with each example, built by the generator itself; the tag must be
// in every page. What is not installed is skipped, and said: programs are looked for in PATH, packages of npm in
// $COPYDESK_GENERATORS/NAME/node_modules.
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import test from 'node:test'

const here = new URL('.', import.meta.url).pathname
const packages = process.env.COPYDESK_GENERATORS ?? ''
const piece = (name) => readFileSync(path.join(here, name), 'utf8')
const ADDRESS = 'https://copydesk.example.com/js/view.js'

/** Where a program is, or nothing. */
const program = (name) =>
  (process.env.PATH ?? '').split(':').map((folder) => path.join(folder, name)).find((file) => existsSync(file))

/** Where the packages of a generator are, or nothing. */
const installed = (name, file) => {
  const folder = path.join(packages, name)
  return packages && existsSync(path.join(folder, 'node_modules', file)) ? folder : undefined
}

/** Writes files below a new folder, beside the packages if there are some. */
function site(files, beside = tmpdir()) {
  const folder = mkdtempSync(path.join(beside, 'site-'))
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(path.dirname(path.join(folder, name)), { recursive: true })
    writeFileSync(path.join(folder, name), text)
  }
  return folder
}

function run(folder, command, ...args) {
  const env = { ...process.env, CI: '1', ASTRO_TELEMETRY_DISABLED: '1', NEXT_TELEMETRY_DISABLED: '1', LANG: 'C.UTF-8', JEKYLL_NO_BUNDLER_REQUIRE: 'true' }
  const { status, stdout, stderr } = spawnSync(command, args, { cwd: folder, encoding: 'utf8', env })
  assert.equal(status, 0, `${command} ${args.join(' ')}\n${stdout}\n${stderr}`)
}

/** Each page that was built loads the script once, with what the example says besides. */
function tagged(built, names, attributes = [/data-project="?docs"?[ >/]/]) {
  const pages = readdirSync(built, { recursive: true }).filter((name) => name.endsWith('.html'))
  for (const name of names) assert.ok(pages.includes(name), `${name} was not built: ${pages}`)
  for (const name of names) {
    const page = readFileSync(path.join(built, name), 'utf8')
    const tags = page.match(/<script[^>]*>/g)?.filter((tag) => tag.includes(ADDRESS)) ?? []
    assert.equal(tags.length, 1, `${name} has ${tags.length} tags`)
    for (const wanted of [/\sdefer/, ...attributes]) assert.match(tags[0], wanted, name)
  }
}

function generator(name, found, build) {
  test(name, { skip: !found && `${name} is not installed` }, () => {
    const folders = []
    try {
      build(found, (files, beside) => {
        folders.push(site(files, beside))
        return folders.at(-1)
      })
    } finally {
      folders.forEach((folder) => rmSync(folder, { recursive: true, force: true }))
    }
  })
}

generator('hugo', program('hugo'), (hugo, make) => {
  const page = '<!doctype html><html><head>{{ partial "copydesk.html" . }}</head><body>{{ .Content }}</body></html>'
  const folder = make({
    'hugo.toml': 'baseURL = "https://docs.example/"\ndisableKinds = ["taxonomy", "term"]\n',
    'content/_index.md': '# Home\n',
    'content/start.md': '# Start\n',
    'layouts/partials/copydesk.html': piece('hugo.html'),
    'layouts/_default/single.html': page,
    'layouts/_default/list.html': page,
  })
  run(folder, hugo, '--quiet', '--destination', 'built')
  tagged(path.join(folder, 'built'), ['index.html', 'start/index.html'])
})

generator('jekyll', program('jekyll'), (jekyll, make) => {
  const folder = make({
    '_config.yml': 'title: Docs\n',
    '_layouts/default.html': '<!doctype html><html><head>{% include head-custom.html %}</head><body>{{ content }}</body></html>',
    '_includes/head-custom.html': piece('jekyll.html'),
    'index.md': '---\nlayout: default\n---\n# Home\n',
    'start.md': '---\nlayout: default\n---\n# Start\n',
  })
  run(folder, jekyll, 'build', '--quiet', '--destination', 'built')
  tagged(path.join(folder, 'built'), ['index.html', 'start.html'])
})

generator('sphinx', program('sphinx-build'), (sphinx, make) => {
  const folder = make({
    'conf.py': `project = "Docs"\n${piece('sphinx.py')}`,
    'index.rst': 'Home\n====\n\n.. toctree::\n\n   start\n',
    'start.rst': 'Start\n=====\n',
  })
  run(folder, sphinx, '-q', '-b', 'html', '.', 'built')
  tagged(path.join(folder, 'built'), ['index.html', 'start.html'])
})

generator('mkdocs', program('mkdocs'), (mkdocs, make) => {
  const folder = make({
    'mkdocs.yml': `site_name: Docs\n${piece('mkdocs.yml')}`,
    'docs/index.md': '# Home\n',
    'docs/start.md': '# Start\n',
  })
  run(folder, mkdocs, 'build', '--quiet', '--site-dir', 'built')
  tagged(path.join(folder, 'built'), ['index.html', 'start/index.html'], [])
})

generator('mdbook', program('mdbook'), (mdbook, make) => {
  const folder = make({
    'book.toml': '[book]\ntitle = "Docs"\n',
    'theme/head.hbs': piece('mdbook.hbs'),
    'src/SUMMARY.md': '- [Home](index.md)\n- [Start](start.md)\n',
    'src/index.md': '# Home\n',
    'src/start.md': '# Start\n',
  })
  run(folder, mdbook, 'build', '--dest-dir', 'built')
  tagged(path.join(folder, 'built'), ['index.html', 'start.html'])
})

generator('starlight', installed('starlight', '@astrojs/starlight'), (home, make) => {
  const config = 'import { defineCollection } from "astro:content"\nimport { docsLoader } from "@astrojs/starlight/loaders"\n' +
    'import { docsSchema } from "@astrojs/starlight/schema"\n' +
    'export const collections = { docs: defineCollection({ loader: docsLoader(), schema: docsSchema() }) }\n'
  const folder = make(
    {
      'package.json': '{"private": true, "type": "module"}',
      'astro.config.mjs': piece('starlight.config.mjs'),
      'src/content.config.ts': config,
      'src/content/docs/index.md': '---\ntitle: Home\n---\n',
      'src/content/docs/start.md': '---\ntitle: Start\n---\n',
    },
    home,
  )
  run(folder, path.join(home, 'node_modules/.bin/astro'), 'build', '--outDir', 'built')
  tagged(path.join(folder, 'built'), ['index.html', 'start/index.html'])
})

generator('nextra', installed('nextra', 'nextra-theme-docs'), (home, make) => {
  const page = `import { generateStaticParamsFor, importPage } from 'nextra/pages'
import { useMDXComponents } from '../../mdx-components'
export const generateStaticParams = generateStaticParamsFor('path')
export default async function Page(props) {
  const params = await props.params
  const { default: Content, toc, metadata, sourceCode } = await importPage(params.path)
  const Wrapper = useMDXComponents().wrapper
  return <Wrapper toc={toc} metadata={metadata} sourceCode={sourceCode}><Content {...props} params={params} /></Wrapper>
}
`
  const components = `import { useMDXComponents as theme } from 'nextra-theme-docs'
export const useMDXComponents = (more) => ({ ...theme(), ...more })
`
  const folder = make(
    {
      'package.json': '{"private": true}',
      'next.config.mjs': "import nextra from 'nextra'\nexport default nextra({})({ output: 'export', images: { unoptimized: true } })\n",
      'mdx-components.js': components,
      'app/layout.jsx': piece('nextra.jsx'),
      'app/[[...path]]/page.jsx': page,
      'content/index.mdx': '# Home\n',
      'content/start.mdx': '# Start\n',
    },
    home,
  )
  run(folder, path.join(home, 'node_modules/.bin/next'), 'build', '--webpack')
  tagged(path.join(folder, 'out'), ['index.html', 'start.html'])
})

generator('antora', installed('antora', '@antora/cli'), (home, make) => {
  // The smallest user interface that there can be: Antora's own is fetched from the network.
  const layout = '<!doctype html><html><head>{{> head-scripts}}</head><body>{{{page.contents}}}</body></html>'
  const folder = make(
    {
      'playbook.yml': 'site:\n  title: Docs\n  start_page: docs::index.adoc\ncontent:\n  sources:\n    - url: ./docs\n      branches: HEAD\n' +
        'ui:\n  bundle:\n    url: ./ui\n  supplemental_files: ./supplemental\noutput:\n  dir: ./built\n',
      'ui/layouts/default.hbs': layout,
      'ui/partials/head-scripts.hbs': '',
      'supplemental/partials/head-scripts.hbs': piece('antora.hbs'),
      'docs/antora.yml': 'name: docs\nversion: ~\n',
      'docs/modules/ROOT/pages/index.adoc': '= Home\n',
      'docs/modules/ROOT/pages/start.adoc': '= Start\n',
    },
    home,
  )
  const docs = path.join(folder, 'docs')
  const git = ['-c', 'user.name=A', '-c', 'user.email=a@example.com']
  run(docs, 'git', 'init', '-q', '-b', 'main')
  run(docs, 'git', 'add', '-A')
  run(docs, 'git', ...git, 'commit', '-qm', 'Write the docs')
  run(folder, path.join(home, 'node_modules/.bin/antora'), '--cache-dir', 'cache', 'playbook.yml')
  tagged(path.join(folder, 'built'), ['docs/index.html', 'docs/start.html'])
})
