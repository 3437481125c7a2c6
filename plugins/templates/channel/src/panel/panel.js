// The panel: the state of each account. It runs in a frame that reaches nothing but the page around it.
import { connectPanel } from '../../panel.js'

class Panel extends HTMLElement {
  panel = connectPanel()
  accounts = document.createElement('table')
  notice = Object.assign(document.createElement('p'), { role: 'alert' })

  connectedCallback() {
    const reload = Object.assign(document.createElement('button'), { textContent: 'Reload' })
    reload.addEventListener('click', () => void this.load())
    this.append(reload, this.notice, this.accounts)
    void this.load()
  }

  async load() {
    this.notice.textContent = ''
    try {
      const { accounts } = await this.panel.read('/api/channels')
      const own = accounts.filter(({ channel }) => channel === 'plugin-name')
      this.accounts.replaceChildren()
      for (const { accountId, state, reason = '' } of own) {
        const row = this.accounts.insertRow()
        for (const text of [accountId, state, reason]) row.insertCell().textContent = text
      }
    } catch (error) {
      this.notice.textContent = error.message
    }
  }
}

customElements.define('plugin-name-panel', Panel)
