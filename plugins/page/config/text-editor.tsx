// The place of the editor, whose code is loaded when the view is opened.
import { useEffect, useRef, useState } from 'preact/hooks'
import { messageOf } from '../app/app.ts'
import { Loading, Notice } from '../ui/parts.tsx'
import type { Checked } from './check.ts'
import type { Editor } from './editor.ts'
import type { Schema } from './schema.ts'

/** The editor is larger than the rest of the page. */
export const loadEditor = () => import('./editor.ts')

interface TextEditorProps {
  /** What the editor begins with. Later changes are made in the editor itself. */
  text: string
  schema: Schema
  checked: Checked | undefined
  isReadOnly: boolean
  onChange(text: string): void
  onPlace(path: readonly string[]): void
  /** Called with the editor when it is there. */
  onReady(editor: Editor): void
}

export function TextEditor({ text, schema, checked, isReadOnly, onChange, onPlace, onReady }: TextEditorProps) {
  const place = useRef<HTMLDivElement>(null)
  const [editor, setEditor] = useState<Editor>()
  const [problem, setProblem] = useState<string>()
  const latest = useRef({ text, onChange, onPlace })
  latest.current = { text, onChange, onPlace }
  useEffect(() => {
    let opened: Editor | undefined
    let isGone = false
    const open = async (): Promise<void> => {
      const { createEditor } = await loadEditor()
      if (isGone || !place.current) return
      opened = createEditor({
        host: place.current,
        text: latest.current.text,
        schema,
        onChange: (next) => latest.current.onChange(next),
        onPlace: (path) => latest.current.onPlace(path),
      })
      setEditor(opened)
      onReady(opened)
    }
    open().catch((error: unknown) => setProblem(messageOf(error)))
    return () => {
      isGone = true
      opened?.close()
    }
  }, [])
  useEffect(() => editor?.setReadOnly(isReadOnly), [editor, isReadOnly])
  useEffect(() => checked && editor?.showProblems(checked), [editor, checked])
  return (
    <>
      {problem !== undefined && <Notice tone="bad">The editor could not be loaded: {problem}</Notice>}
      {!editor && problem === undefined && <Loading />}
      <div class="text-editor" ref={place} hidden={!editor} />
    </>
  )
}
