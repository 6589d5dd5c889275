// The form that adds a condition: only the operators and values that fit the chosen field.
import { whenPresent } from "./page.js";

whenPresent("[data-filter-form]", (form) => {
  const { field, op, value } = form.elements;
  const every = [...op.options].map((option) => option.cloneNode(true));
  const fit = () => {
    const chosen = field.selectedOptions[0];
    const allowed = chosen.dataset.operators.trim().split(" ");
    const kept = op.value;
    op.replaceChildren(...allowed.map((key) => every.find((option) => option.value === key).cloneNode(true)));
    op.value = allowed.includes(kept) ? kept : allowed[0];
    if (chosen.dataset.values) value.setAttribute("list", chosen.dataset.values);
    else value.removeAttribute("list");
  };
  field.addEventListener("change", fit);
  form.addEventListener("submit", () => { form.closest("details").open = false; });
  fit();
});

whenPresent("[data-submit-closes]", (form) => {
  form.addEventListener("submit", () => { form.closest("details").open = false; });
});

// Backspace on a chip's button removes the chip, as its click does.
document.addEventListener("keydown", (event) => {
  const remove = event.target.closest?.(".chip a");
  if (remove && (event.key === "Backspace" || event.key === "Delete")) {
    event.preventDefault();
    event.stopPropagation();
    remove.click();
  }
});
