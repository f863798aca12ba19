import type { ComponentChildren } from 'preact';
import { useEffect, useRef } from 'preact/hooks';

// A modal dialog: the browser keeps the focus inside and gives it back. Escape closes.
export function Dialog(props: { title: string; close: () => void; children: ComponentChildren }) {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    dialog.current?.showModal();
    return () => dialog.current?.close();
  }, []);
  return (
    <dialog ref={dialog} aria-labelledby="dialog-title" onClose={props.close} onCancel={props.close}>
      <h2 id="dialog-title">{props.title}</h2>
      {props.children}
    </dialog>
  );
}
