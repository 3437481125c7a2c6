// Tests the panel of the toolset files: the files in the workspaces of agents, in a real browser.
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { gatewayToken, startGateway, temporaryFolder } from '../helpers.ts'
import { share } from '../share.ts'
import { expectAccessible, sharePages } from './open-page.ts'

const operatorToken = 'the-token-of-an-operator-0123456789-0123456789'

describe('the panel of workspaces', () => {
  const { open } = sharePages()
  const gateway = share(async () => {
    const dir = temporaryFolder()
    const workspace = join(dir, 'main-files')
    mkdirSync(join(workspace, 'notes', 'old'), { recursive: true })
    mkdirSync(join(dir, 'ops-files'))
    writeFileSync(join(workspace, 'notes', 'today.md'), '# Today\n')
    writeFileSync(join(workspace, 'picture.bin'), Buffer.from([0, 1, 2]))
    writeFileSync(join(workspace, '<img src=x onerror="hasRun=1">.txt'), '<script>hasRun=1</script>')
    writeFileSync(join(workspace, 'long.txt'), 'long '.repeat(20_000))
    symlinkSync('/etc', join(workspace, 'link'))
    writeFileSync(join(dir, 'ops-files', 'runbook.md'), 'Restart it.')
    return await startGateway(
      {
        gateway: {
          port: 0,
          auth: {
            token: gatewayToken,
            clients: [{ name: 'ops', role: 'operator', token: operatorToken, agents: ['ops'] }],
          },
        },
        agents: {
          defaults: { heartbeat: { every: 0 } },
          main: { default: true, workspace: 'main-files' },
          ops: { workspace: 'ops-files', tools: { deny: ['write'] } },
        },
      },
      dir,
    )
  })
  const openPanel = async (options = {}) => {
    const visited = await open(gateway().url, '#/panels/toolset/files', options)
    return { ...visited, frame: visited.page.frameLocator('iframe') }
  }

  it('shows folders and files, and edits a text', async () => {
    const { page, frame, complaints } = await openPanel()
    await frame.getByRole('button', { name: 'notes/' }).click()
    await frame.getByRole('heading', { name: 'notes' }).waitFor()
    await frame.getByRole('button', { name: 'today.md' }).click()
    const text = frame.getByLabel('Text of notes/today.md')
    await expect.poll(() => text.inputValue()).toBe('# Today\n')
    await expectAccessible(page)
    await text.fill('# Today\nShip it.\n')
    await frame.getByRole('button', { name: 'Save' }).click()
    await frame.getByText('Saved.').waitFor()
    const file = join(gateway().dir, 'main-files', 'notes', 'today.md')
    expect(readFileSync(file, 'utf8')).toBe('# Today\nShip it.\n')
    writeFileSync(file, 'The agent was here.')
    await text.fill('Mine.')
    await frame.getByRole('button', { name: 'Save' }).click()
    await frame.getByText('The file has changed since it was opened.').waitFor()
    expect(readFileSync(file, 'utf8')).toBe('The agent was here.')
    await frame.getByRole('button', { name: 'Save' }).click()
    await frame.getByText('Saved.').waitFor()
    expect(readFileSync(file, 'utf8')).toBe('Mine.')
    await frame.getByRole('button', { name: '‹ back' }).click()
    await frame.getByRole('heading', { name: 'Workspace', exact: true }).waitFor()
    expect(complaints).toEqual([])
  })

  it('creates a file, and does not replace one that exists', async () => {
    const { frame } = await openPanel()
    await frame.getByRole('button', { name: 'New file' }).click()
    await frame.getByLabel('Path of the new file').fill('notes/today.md')
    await frame.getByRole('button', { name: 'Create' }).click()
    await frame.getByText('"notes/today.md" exists already.').waitFor()
    await frame.getByLabel('Path of the new file').fill('new/plan.md')
    await frame.getByLabel('Path of the new file').press('Enter')
    await frame.getByLabel('Text of new/plan.md').fill('A plan.')
    await frame.getByRole('button', { name: 'Save' }).click()
    await frame.getByRole('button', { name: 'new/' }).waitFor()
    expect(readFileSync(join(gateway().dir, 'main-files', 'new', 'plan.md'), 'utf8')).toBe('A plan.')
  })

  it('shows hostile names and texts as text, and says of what it cannot show', async () => {
    const { page, frame, complaints } = await openPanel()
    await frame.getByRole('button', { name: '<img src=x' }).click()
    const text = frame.getByLabel(/^Text of <img/)
    await expect.poll(() => text.inputValue()).toBe('<script>hasRun=1</script>')
    await frame.getByRole('button', { name: 'picture.bin' }).click()
    await frame.getByText('It is not a text. It has 3 bytes.').waitFor()
    await frame.getByRole('button', { name: 'long.txt' }).click()
    await frame.getByText('The file is too long to be edited here.').waitFor()
    expect(await frame.getByRole('button', { name: 'Save' }).isDisabled()).toBe(true)
    expect(await frame.getByRole('button', { name: 'link' }).isDisabled()).toBe(true)
    const inner = page.frames().find((one) => one.url().includes('/page/panels/'))
    expect(
      await inner?.evaluate(`'hasRun' in globalThis || document.querySelectorAll('img, body script').length`),
    ).toBe(0)
    expect(complaints).toEqual([])
  })

  it('follows the policy of the agent, and what the reader may reach', async () => {
    const { frame } = await openPanel({ tabStorage: { 'svc-gateway credential /': operatorToken } })
    // This client may not read the configuration, and the agent has no session yet.
    await frame
      .getByRole('alert')
      .getByText(/may reach only these agents: ops/)
      .waitFor()
    const { frame: whole } = await openPanel()
    await whole.getByLabel('Agent').selectOption('ops')
    await whole.getByRole('button', { name: 'runbook.md' }).click()
    await whole.getByLabel('Text of runbook.md').fill('Do not restart it.')
    await whole.getByRole('button', { name: 'Save' }).click()
    await whole.getByText('The policy of this agent does not allow this.').waitFor()
    expect(readFileSync(join(gateway().dir, 'ops-files', 'runbook.md'), 'utf8')).toBe('Restart it.')
  })

  it('fits a narrow screen', async () => {
    const { page, frame } = await openPanel({ viewport: { width: 360, height: 740 } })
    await frame.getByRole('button', { name: 'long.txt' }).click()
    await frame.getByLabel('Text of long.txt').waitFor()
    const inner = page.frames().find((one) => one.url().includes('/page/panels/'))
    expect(await inner?.evaluate('document.documentElement.scrollWidth - innerWidth')).toBe(0)
    await expectAccessible(page)
  })
})
