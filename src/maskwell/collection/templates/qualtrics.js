/*
The question @name@ for Qualtrics, made by maskwell @version@.
Design @design@.
It draws on the respondent's device, loads nothing, and hands over the report only.
1. Survey flow, at the top: an embedded data field __js_@name@, without a value.
2. A question Text / Graphic on a page of its own; its JavaScript is this file, and nothing else.
3. The report is in the column __js_@name@ of the export.
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
