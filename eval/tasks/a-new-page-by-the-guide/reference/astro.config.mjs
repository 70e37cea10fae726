import { defineConfig } from 'astro/config';
import starlight from '@astrojs/starlight';

export default defineConfig({
  integrations: [
    starlight({
      title: 'Tern',
      sidebar: [
        {
          label: 'Guides',
          items: [
            { label: 'Topics', slug: 'guides/topics' },
            { label: 'Pausing', slug: 'guides/pausing' },
            { label: 'Publishing', slug: 'guides/publishing' },
          ],
        },
      ],
    }),
  ],
});
