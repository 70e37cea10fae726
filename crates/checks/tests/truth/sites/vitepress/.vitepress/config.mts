import { defineConfig } from 'vitepress'
import { nav } from './nav'

const firebase = { base: '/nothing-of-ours/' }

export default defineConfig({
  title: 'Fixture',
  base: '/docs/',
  srcDir: './src',
  srcExclude: ['**/drafts/**', 'parts/*.md'],
  rewrites: {
    'packages/:name/docs/(.*)': ':name/(.*)',
    'old-name.md': 'renamed.md',
  },
  ignoreDeadLinks: true,
  head: [['meta', { name: 'x', content: firebase.base }]],
  locales: {
    root: { label: 'English', lang: 'en' },
    de: { label: 'Deutsch', lang: 'de', themeConfig: { nav: [{ text: 'L81', link: '/de/guide/' }] } },
  },
  themeConfig: {
    nav,
    socialLinks: [{ icon: 'github', link: 'https://example.com/blog' }],
    sidebar: [
      {
        text: 'Guide',
        items: [
          { text: 'L82', link: '/guide/start' },
          { text: 'L83', link: '/guide/gone' },
        ],
      },
    ],
  },
})
