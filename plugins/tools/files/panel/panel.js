// The panel of the toolset: shows the files in the workspace of an agent, and edits texts.
import { connectPanel } from '../../panel.js'

/** Creates an element. Everything is shown as text. */
function element(name, properties = {}, ...children) {
  const created = Object.assign(document.createElement(name), properties)
  created.append(...children)
  return created
}

class WorkspaceFiles extends HTMLElement {
  panel = connectPanel()
  agent = element('select', { ariaLabel: 'Agent', onchange: () => this.openFolder('.') })
  place = element('h2')
  files = element('nav', { className: 'files', ariaLabel: 'Files' })
  opened = element('section', { className: 'opened', ariaLabel: 'Opened file' })
  notice = element('p', { role: 'alert' })

  connectedCallback() {
    const create = element('button', { textContent: 'New file', onclick: () => this.createFile() })
    const reload = element('button', { textContent: 'Reload', onclick: () => this.openFolder(this.folder) })
    this.append(
      element('header', { className: 'bar' }, this.place, this.agent, create, reload),
      this.files,
      this.opened,
    )
    void this.start()
  }

  async start() {
    for (const id of await this.listAgents()) this.agent.append(element('option', { textContent: id }))
    await this.openFolder('.')
  }

  /** A client that is limited to agents may not read the configuration: it sees the agents that have sessions. */
  async listAgents() {
    const { agents = {} } = await this.panel.read('/api/config').catch(() => ({}))
    const configured = Object.keys(agents).filter((id) => id !== 'defaults')
    if (configured.length > 0) return configured
    const { items } = await this.panel.read('/api/sessions', { query: { limit: '200' } }).catch(() => ({ items: [] }))
    const known = new Set(items.map(({ agentId }) => agentId))
    return known.size > 0 ? [...known].toSorted((one, other) => (one < other ? -1 : 1)) : ['main']
  }

  call(tool, args) {
    return this.panel.invoke(tool, args, { sessionKey: `agent:${this.agent.value}:main` })
  }

  /** Does something, and says why it failed. */
  async attempt(work) {
    this.notice.textContent = ''
    try {
      await work()
    } catch ({ type, message }) {
      const isDenied = type === 'tool_not_available'
      this.notice.textContent = isDenied ? 'The policy of this agent does not allow this.' : message
      if (!this.notice.isConnected) this.opened.prepend(this.notice)
    }
  }

  openFolder(path) {
    this.folder = path
    this.place.textContent = path === '.' ? 'Workspace' : path
    this.files.replaceChildren()
    this.opened.replaceChildren(this.notice)
    return this.attempt(async () => {
      const { items, cut = false } = await this.call('list', { path })
      const up = path.includes('/') ? path.slice(0, path.lastIndexOf('/')) : '.'
      const above = path === '.' ? [] : [this.entry('‹ back', () => this.openFolder(up))]
      const rows = items.map(({ path, kind }) => this.row(path, kind))
      if (rows.length === 0) rows.push(element('p', { role: 'status', textContent: 'This folder is empty.' }))
      if (cut) rows.push(element('p', { role: 'status', textContent: 'There are more files than are listed.' }))
      this.files.replaceChildren(...above, ...rows)
    })
  }

  entry(text, onclick) {
    return element('button', { textContent: text, onclick })
  }

  row(path, kind) {
    const name = path.slice(path.lastIndexOf('/') + 1)
    if (kind === 'folder') return this.entry(`${name}/`, () => this.openFolder(path))
    const row = this.entry(name, () => {
      for (const other of this.files.children) other.removeAttribute('aria-current')
      row.setAttribute('aria-current', 'true')
      return this.openFile(path)
    })
    row.disabled = kind !== 'file'
    return row
  }

  openFile(path) {
    this.opened.replaceChildren(this.notice)
    return this.attempt(async () => this.show(await this.call('read', { path })))
  }

  createFile() {
    const path = element('input', { ariaLabel: 'Path of the new file', placeholder: 'notes/today.md' })
    const open = () => {
      const given = path.value.trim()
      if (given === '') return path.focus()
      const inside = this.folder === '.' ? given : `${this.folder}/${given}`
      return this.attempt(async () => {
        if (await this.isFile(inside)) throw new Error(`"${inside}" exists already.`)
        this.show({ path: inside, text: '', isNew: true })
      })
    }
    const button = element('button', { textContent: 'Create', className: 'primary', onclick: open })
    path.onkeydown = ({ key }) => key === 'Enter' && open()
    this.notice.textContent = ''
    this.opened.replaceChildren(this.notice, element('div', { role: 'group' }, path, button))
    path.focus()
  }

  /** A file that is missing cannot be read. */
  isFile(path) {
    return this.call('read', { path, lines: 1 }).then(
      () => true,
      () => false,
    )
  }

  show({ path, bytes = 0, text, binary = false, cut = false, isNew = false }) {
    const title = element('h3', { textContent: path })
    if (binary) {
      const size = element('p', { role: 'status', textContent: `It is not a text. It has ${bytes} bytes.` })
      this.opened.replaceChildren(this.notice, title, size)
      return
    }
    const field = element('textarea', { value: text, ariaLabel: `Text of ${path}`, spellcheck: false, readOnly: cut })
    const said = element('span', { role: 'status' })
    if (cut) said.textContent = 'The file is too long to be edited here. This is its beginning.'
    const file = { path, loaded: isNew ? undefined : text, field, said }
    const save = element('button', { textContent: 'Save', className: 'primary', disabled: cut })
    save.onclick = () => this.save(file)
    this.opened.replaceChildren(this.notice, title, field, element('div', { role: 'group' }, save, said))
    field.focus()
  }

  /** The agent may have written to the file since it was opened. */
  save(file) {
    file.said.textContent = ''
    return this.attempt(async () => {
      const current = file.loaded === undefined ? undefined : (await this.call('read', { path: file.path })).text
      if (current !== file.loaded) {
        file.loaded = current
        throw new Error('The file has changed since it was opened. Save again to replace it, or open it anew.')
      }
      const text = file.field.value
      await this.call('write', { path: file.path, text })
      if (file.loaded === undefined) await this.openFolder(this.folder).then(() => this.openFile(file.path))
      file.loaded = text
      file.said.textContent = 'Saved.'
    })
  }
}

customElements.define('workspace-files', WorkspaceFiles)
