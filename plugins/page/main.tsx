// The entry of the page: creates what the views use, signs in with the code of a link, and shows the page.
import { render } from 'preact'
import { writeBigInts } from './api/read-json.ts'
import { AppContext, createApp } from './app/app.ts'
import { takeCode } from './app/session.ts'
import { Page } from './app/shell.tsx'
import { redeemCode } from './app/sign-in.tsx'

async function start(root: HTMLElement): Promise<void> {
  writeBigInts()
  const code = takeCode(window)
  const app = createApp()
  if (code !== undefined) await redeemCode(app, code)
  render(
    <AppContext.Provider value={app}>
      <Page />
    </AppContext.Provider>,
    root,
  )
}

await start(document.getElementById('page') ?? document.body)
