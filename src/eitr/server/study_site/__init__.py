"""The study site: what participants and raters of a study see.

application     all of it, as one application
languages       English or German: what the browser prefers, or the visitor chose
texts           sentences and texts in each language, with those of the research group, checked at the start
rendering       pages from templates and texts
consent_texts   what people consent to, and its hash
disclosure      the figure that the consent states about what updates reveal
guard           whose cookie it is: a participant's or a rater's
errors          problems as pages in the visitor's language
routes/         one file per part of the site
texts/          our own texts; a research group's folder overrides them (EITR_STUDY_TEMPLATES)
"""
