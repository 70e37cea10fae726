import { defineConfig } from 'vitepress'

export default defineConfig({
  title: 'Tern',
  locales: {
    root: { label: 'English', lang: 'en' },
    de: { label: 'Deutsch', lang: 'de' },
    fr: { label: 'Français', lang: 'fr' },
  },
  themeConfig: {
    sidebar: [
      { text: 'Start', link: '/' },
      { text: 'Tokens', link: '/tokens' },
      { text: 'API', link: '/api' },
    ],
  },
})
