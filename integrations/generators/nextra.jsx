// Nextra 4, in app/layout.jsx: the script into the <Head> that is there. What is around it here is the smallest layout.
import { getPageMap } from 'nextra/page-map'
import { Head } from 'nextra/components'
import { Layout } from 'nextra-theme-docs'
import 'nextra-theme-docs/style.css'

export default async function RootLayout({ children }) {
  return (
    <html lang="en" dir="ltr" suppressHydrationWarning>
      <Head>
        <script defer data-project="docs" src="https://copydesk.example.com/js/view.js" />
      </Head>
      <body>
        <Layout pageMap={await getPageMap()}>{children}</Layout>
      </body>
    </html>
  )
}
