// A dialog over the page. Escape and a click outside close it; the focus returns to where it was.
import type { ComponentChildren } from 'preact'
import { useEffect, useId, useRef } from 'preact/hooks'
import { Button } from './parts.tsx'

interface DialogProps {
  title: string
  onClose(): void
  children: ComponentChildren
  /** The buttons at its end. */
  actions?: ComponentChildren
  isLarge?: boolean
}

export function Dialog({ title, onClose, children, actions, isLarge = false }: DialogProps) {
  const element = useRef<HTMLDialogElement>(null)
  const titleId = useId()
  useEffect(() => {
    const dialog = element.current
    dialog?.showModal()
    return () => dialog?.close()
  }, [])
  return (
    <dialog
      ref={element}
      class={`dialog${isLarge ? ' large' : ''}`}
      aria-labelledby={titleId}
      onCancel={(event) => {
        event.preventDefault()
        onClose()
      }}
      onClick={({ target, currentTarget }) => target === currentTarget && onClose()}
    >
      <header>
        <h2 id={titleId}>{title}</h2>
        <Button kind="quiet" icon="close" label="Close" onClick={onClose} />
      </header>
      <div class="inside">{children}</div>
      {actions && <footer>{actions}</footer>}
    </dialog>
  )
}

interface ConfirmProps {
  title: string
  text: string
  /** What the button does, such as `Cancel the run`. */
  action: string
  onConfirm(): Promise<unknown>
  onClose(): void
}

/** Asks before an action that cannot be undone. */
export function Confirm({ title, text, action, onConfirm, onClose }: ConfirmProps) {
  const confirm = async (): Promise<void> => {
    await onConfirm()
    onClose()
  }
  return (
    <Dialog
      title={title}
      onClose={onClose}
      actions={
        <>
          <Button onClick={onClose}>Go back</Button>
          <Button kind="primary" onClick={confirm}>
            {action}
          </Button>
        </>
      }
    >
      <p>{text}</p>
    </Dialog>
  )
}
