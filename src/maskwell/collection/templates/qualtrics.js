/*
@head@
*/
(function () {
  var draw = new Function("host", @program@);
  var engine = Qualtrics.SurveyEngine;
  engine.addOnReady(function () {
    var question = this;
    draw({
      element: question.getQuestionContainer(),
      language: "${e://Field/Q_Language}",
      respondent: "${e://Field/ResponseID}",
      read: function () {
        return engine.getJSEmbeddedData ? engine.getJSEmbeddedData("@name@") : engine.getEmbeddedData("__js_@name@");
      },
      write: function (report) {
        if (engine.setJSEmbeddedData) engine.setJSEmbeddedData("@name@", report);
        else engine.setEmbeddedData("__js_@name@", report);
      },
      wait: function () { question.disableNextButton(); },
      go: function () { question.enableNextButton(); }
    });
  });
})();
