import { defineConfig } from 'astro/config'
import starlight from '@astrojs/starlight'

export default defineConfig({
  site: 'https://example.com',
  base: '/base',
  redirects: {
    '/old-start': '/base/guides/start/',
  },
  integrations: [
    starlight({
      title: 'Fixture',
      pagefind: false,
      locales: { root: { label: 'English', lang: 'en' }, fr: { label: 'Français', lang: 'fr' } },
      social: [{ icon: 'github', label: 'GitHub', href: 'https://example.com/blog' }],
      sidebar: [{ label: 'Guides', items: ['guides/start'] }],
    }),
  ],
})
