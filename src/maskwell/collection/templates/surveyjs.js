/*
The question @name@ for SurveyJS, made by maskwell @version@.
Design @design@.
It draws on the respondent's device, loads nothing, and hands over the report only.
1. A question {"type": "text", "titleLocation": "hidden", "isRequired": true} with this name.
2. Load this file, then call attachMaskwell(survey) before the survey is rendered.
Several snippets can be loaded one after the other: one call attaches all of them.
*/
(function () {
const draw = (host) => {
@program@
};
const earlier = globalThis.attachMaskwell;
globalThis.attachMaskwell = function (survey) {
  if (earlier) earlier(survey);
  let asked;
  survey.onAfterRenderQuestion.add((_, { question, htmlElement }) => {
    if (question.name !== @title@ || htmlElement.querySelector(".maskwell")) return;
    for (const field of htmlElement.querySelectorAll("input, textarea")) field.style.display = "none";
    asked = draw({
      element: htmlElement,
      language: survey.locale,
      read: () => question.value,
      write: (report) => { if (question.value !== report) question.value = report; },
    });
  });
  survey.onComplete.add(async () => (await asked)?.forget?.()); // the next respondent in this tab draws anew
};
})();
