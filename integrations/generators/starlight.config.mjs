// Starlight, in astro.config.mjs beside what is there: `head` of starlight({ … }). Astro without it: page.html, in the layout.
import starlight from '@astrojs/starlight'
import { defineConfig } from 'astro/config'

export default defineConfig({
  integrations: [
    starlight({
      title: 'Docs',
      head: [
        {
          tag: 'script',
          attrs: { defer: true, 'data-project': 'docs', src: 'https://copydesk.example.com/js/view.js' },
        },
      ],
    }),
  ],
})
