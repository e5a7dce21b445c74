/*
@head@
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
    if (question.name !== @name@ || htmlElement.querySelector(".maskwell")) return;
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
