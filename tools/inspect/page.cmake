# Embeds the files of the HTML dump in a generated source, SHEAF_PAGE_SOURCE; editing one of them reconfigures.
set(SHEAF_PAGE_DIR ${CMAKE_CURRENT_LIST_DIR}/page)
set(SHEAF_PAGE_SOURCE ${CMAKE_CURRENT_BINARY_DIR}/inspect/page.cpp)

file(READ ${SHEAF_PAGE_DIR}/template.html SHEAF_PAGE_TEMPLATE)
file(READ ${SHEAF_PAGE_DIR}/style.css SHEAF_PAGE_STYLE)
set(SHEAF_PAGE_SCRIPT "")
foreach(part format lanes tree levels layout draw view search panel select memory timeline timeline_draw
    timeline_events dock legend start)
  file(READ ${SHEAF_PAGE_DIR}/${part}.js text)
  string(APPEND SHEAF_PAGE_SCRIPT "${text}")
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${SHEAF_PAGE_DIR}/${part}.js)
endforeach()
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${SHEAF_PAGE_DIR}/template.html ${SHEAF_PAGE_DIR}/style.css)
configure_file(${CMAKE_CURRENT_LIST_DIR}/page.cpp.in ${SHEAF_PAGE_SOURCE} @ONLY)
