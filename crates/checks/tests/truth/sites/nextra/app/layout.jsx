import { Layout } from 'nextra-theme-docs'
import { getPageMap } from 'nextra/page-map'

export default async function RootLayout({ children }) {
  return (
    <html lang="en" dir="ltr" suppressHydrationWarning>
      <body>
        <Layout pageMap={await getPageMap()} search={null}>
          {children}
        </Layout>
      </body>
    </html>
  )
}
