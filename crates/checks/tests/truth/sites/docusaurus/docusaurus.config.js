const docsFolder = 'docs'

/** The settings of the fixture. */
const config = {
  title: 'Fixture',
  url: 'https://example.com',
  baseUrl: '/base/',
  onBrokenLinks: 'ignore',
  onBrokenAnchors: 'ignore',
  onDuplicateRoutes: 'ignore',
  onBrokenMarkdownLinks: 'warn',
  staticDirectories: ['static'],
  i18n: { defaultLocale: 'en', locales: ['en', 'fr'] },
  presets: [
    [
      'classic',
      {
        docs: {
          path: docsFolder,
          routeBasePath: 'learn',
          sidebarPath: './sidebars.js',
          lastVersion: 'current',
          versions: { current: { label: 'Next' } },
        },
        blog: { routeBasePath: 'news', showReadingTime: false },
        pages: {},
        theme: {},
      },
    ],
  ],
  plugins: [
    ['@docusaurus/plugin-content-docs', { id: 'handbook', path: 'handbook', routeBasePath: 'handbook', sidebarPath: false }],
    [
      '@docusaurus/plugin-client-redirects',
      { redirects: [{ from: '/old-start', to: '/learn/guide/start' }, { from: ['/older', '/oldest'], to: '/learn/' }] },
    ],
  ],
  themeConfig: {
    navbar: {
      title: 'Fixture',
      items: [
        { to: '/learn/guide/start', label: 'Start', position: 'left' },
        { href: 'https://example.com/blog', label: 'Blog', position: 'right' },
      ],
    },
  },
}

export default config
