"""The operator's dashboard: pages that the server renders, forms, and charts that need no script.

application all of it, as one application
guard       who is signed in, and whether a form was really sent from a page of their session
attempts    how often somebody may try a password
rendering   templates, and how numbers and moments are written
charts      lines, tiles and bars as SVG
figures     which chart shows what
spreadsheet tables as CSV
study_form  the form that makes and changes a study
page_checks checks of a study's pages that run beside the requests
errors      problems as pages, and the errors that only the dashboard has
routes/     one file per part of the site
queries/    what the pages show, read from the database
"""
