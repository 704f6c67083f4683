// @ts-check
// The questions of servers: forms, URLs to visit, answers of a language model; and logins.

import { post } from "./api.js";
import { argumentsEditor, problemSummary } from "./arguments.js";
import {
  announce,
  buttonRow,
  byId,
  el,
  fill,
  focusIn,
  formOf,
  freshId,
  withLabel,
  longText,
} from "./dom.js";
import { draftOf, forgetDraft, keepDraft } from "./drafts.js";
import { showView } from "./layout.js";
import { messageView } from "./results.js";
import { on } from "./events.js";
import { known, shownName } from "./store.js";
import { cut, factsOf, textOf } from "./text.js";
import { errorBox, jsonTree } from "./tree.js";

const MAX_QUESTIONS = 20;

const drawnQuestions = /** @type {Map<string, HTMLElement>} */ (new Map());

/** By server. @type {Map<string, { login: Login, element: HTMLElement }>} */
const drawnLogins = new Map();

export function buildQuestions() {
  on("question", refreshQuestions);
  on("login", refreshQuestions);
  byId("asked").addEventListener("click", () => {
    showView("subject");
    focusIn("#questions");
  });
}

function refreshQuestions() {
  const holder = byId("questions");
  for (const [name, element] of drawnQuestions) {
    if (known.questions.has(name)) continue;
    element.remove();
    drawnQuestions.delete(name);
    forgetDraft(draftKey(name));
  }
  for (const [name, question] of known.questions) {
    if (drawnQuestions.has(name)) continue;
    if (drawnQuestions.size >= MAX_QUESTIONS) break; // they come when others are answered
    const element = drawQuestion(name, question);
    drawnQuestions.set(name, element);
    holder.append(element);
    const what = textOf(question.message) || "for an answer of a language model";
    announce(`${shownName(question.server)} asks: ${what}`);
    bringToFront(element);
  }
  refreshLogins(holder);
  const count = known.questions.size + known.logins.size;
  const asked = byId("asked");
  asked.hidden = !count;
  asked.textContent = count === 1 ? "1 question" : `${count} questions`;
}

/** Show a question above everything else; whoever is typing elsewhere goes on typing. */
function bringToFront(/** @type {HTMLElement} */ element) {
  showView("subject");
  element.scrollIntoView({ block: "nearest" });
  const isTyping = document.activeElement?.matches("input, textarea, select");
  if (!isTyping) focusIn(`#${element.getAttribute("aria-labelledby")} ~ *`);
}

function refreshLogins(/** @type {Element} */ holder) {
  for (const [name, { login, element }] of drawnLogins) {
    if (known.logins.get(name) === login) continue;
    element.remove();
    drawnLogins.delete(name);
  }
  for (const [name, login] of known.logins) {
    if (drawnLogins.has(name)) continue;
    const element = holder.appendChild(drawLogin(name, login));
    drawnLogins.set(name, { login, element });
    announce(`${name} wants a login`);
    bringToFront(element);
  }
}

/** @param {string} title @param {string} who @param {Child[]} children */
function questionBox(title, who, ...children) {
  const id = freshId();
  return el(
    "section",
    { class: "question", "aria-labelledby": id },
    el("h2", { id }, title),
    el("p", { class: "who" }, "asked by ", el("strong", {}, shownName(who))),
    shownName(who) !== who && el("p", { class: "quiet path" }, cut(who, 200)),
    children,
  );
}

function answerer(/** @type {string} */ name, /** @type {Element} */ problem) {
  return async (/** @type {Answer} */ answer) => {
    try {
      await post("/api/answer", { id: name, answer });
    } catch (error) {
      fill(problem, errorBox(factsOf(error)));
    }
  };
}

function drawQuestion(/** @type {string} */ name, /** @type {AskedQuestion} */ question) {
  const problem = el("div");
  const answer = answerer(name, problem);
  const refusals = [
    el("button", { type: "button", on: { click: () => answer({ action: "decline" }) } }, "Decline"),
    el("button", { type: "button", on: { click: () => answer({ action: "cancel" }) } }, "Cancel"),
  ];
  if (question.kind === "form") {
    const typed = typedFor(name, question);
    const form = argumentsEditor(question.schema, typed, "Answer");
    keepDraft(form.element, draftKey(name), () => ({ ...form.draft(), to: messageText(question) }));
    const accept = async () => {
      let content;
      let problems;
      try {
        content = form.value();
        problems = await form.check();
      } catch {
        return; // the editor says what is wrong
      }
      if (problems.length) {
        fill(problem, problemSummary(problems));
        form.element.id ||= freshId();
        focusIn(`#${form.element.id}`, '[aria-invalid="true"]');
      } else answer({ action: "accept", content });
    };
    return questionBox(
      "The server asks",
      question.server,
      messageOf(question),
      formOf(
        accept,
        form.element,
        buttonRow(el("button", { class: "primary" }, "Answer"), refusals),
      ),
      problem,
    );
  }
  if (question.kind === "visit") {
    return questionBox(
      "The server asks for a visit",
      question.server,
      messageOf(question),
      addressOf(question.url, question.host),
      (question.warnings ?? []).map((warning) => el("p", { class: "warning" }, warning)),
      buttonRow(
        visitLink(question.url, "Open it", () => answer({ action: "accept" })),
        refusals,
      ),
      problem,
    );
  }
  return drawSampling(name, question, answer, problem);
}

function draftKey(/** @type {string} */ name) {
  return `question ${name}`;
}

/** Return what was typed for a question before a reload. Another run has other questions. */
function typedFor(/** @type {string} */ name, /** @type {AskedQuestion} */ question) {
  const draft = draftOf(draftKey(name));
  return draft?.to === messageText(question) ? draft : undefined;
}

function messageText(/** @type {AskedQuestion} */ question) {
  return cut(textOf(question.message ?? question.request), 500);
}

function messageOf(/** @type {AskedQuestion} */ question) {
  const text = textOf(question.message);
  return text.length > 4000 ? longText(text) : el("p", { class: "description", dir: "auto" }, text);
}

/** A full address with its host marked. */
export function addressOf(/** @type {unknown} */ url, /** @type {unknown} */ hostname) {
  const [text, host] = [textOf(url), textOf(hostname)];
  const at = host ? text.indexOf(host) : -1;
  if (at < 0) return el("p", { class: "address" }, text);
  return el(
    "p",
    { class: "address" },
    text.slice(0, at),
    el("mark", {}, host),
    text.slice(at + host.length),
  );
}

/** A link to an address elsewhere; only http and https, since others could start programs. */
/** @param {unknown} url @param {string} label @param {Work} then */
export function visitLink(url, label, then = () => {}) {
  if (!/^https?:\/\//i.test(String(url)))
    return el("span", { class: "warning" }, "The page does not open addresses of this kind.");
  return el(
    "a",
    {
      class: "button primary",
      href: String(url),
      target: "_blank",
      rel: "noopener noreferrer",
      on: { click: then },
    },
    label,
  );
}

function drawLogin(/** @type {string} */ name, /** @type {Login} */ login) {
  return questionBox(
    "Log in",
    name,
    el("p", {}, "The server requires a login. Log in at:"),
    addressOf(login.url, login.host),
    buttonRow(visitLink(login.url, "Open the login page")),
  );
}

/**
 * @param {string} name
 * @param {AskedQuestion} question
 * @param {(answer: Answer) => unknown} answer
 * @param {Element} problem
 */
function drawSampling(name, question, answer, problem) {
  const request = question.request ?? {};
  const typed = typedFor(name, question)?.text ?? "";
  const text = el("textarea", { rows: 4, class: "growing", value: typed });
  keepDraft(text, draftKey(name), () => ({ text: text.value, to: messageText(question) }));
  const model = el("input", { value: "human" });
  const messages = Array.isArray(request.messages) ? request.messages : [];
  const accept = () =>
    answer({ content: text.value, model: model.value || "human", stopReason: "endTurn" });
  return questionBox(
    "The server asks a language model",
    question.server,
    textOf(request.systemPrompt) !== "" &&
      el(
        "div",
        { class: "message" },
        el("h3", { class: "part" }, "system"),
        longText(textOf(request.systemPrompt)),
      ),
    messages.slice(-20).map(messageView),
    el(
      "p",
      { class: "quiet" },
      [
        `at most ${textOf(request.maxTokens) || "?"} tokens`,
        Array.isArray(request.tools) && `${request.tools.length} tools`,
      ]
        .filter(Boolean)
        .join(", "),
    ),
    formOf(
      accept,
      withLabel("Answer", text),
      withLabel("Name of the model", model),
      buttonRow(
        el("button", { class: "primary" }, "Answer"),
        el("button", { type: "button", on: { click: () => answer(null) } }, "Reject"),
      ),
    ),
    el("details", {}, el("summary", {}, "The whole request"), jsonTree(request, "Request", 2)),
    problem,
  );
}
