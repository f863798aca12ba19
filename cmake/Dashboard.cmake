# The dashboard: npm ci, npm run build, and its files as a C++ source that is linked into ddpd. npm writes into the source
# folder's node_modules and src/gen only; everything else is in the build folder. Each step is done again when what it reads changes.
find_package(Python3 REQUIRED COMPONENTS Interpreter)
set(_page ${CMAKE_SOURCE_DIR}/client/dashboard)
set(_embed ${CMAKE_SOURCE_DIR}/cmake/embed_assets.py)
set(DDP_DASHBOARD_ASSETS ${CMAKE_BINARY_DIR}/gen/dashboard_assets.cc)

find_program(NPM npm REQUIRED)
set(_dist ${CMAKE_BINARY_DIR}/dashboard/dist)
set(_installed ${CMAKE_BINARY_DIR}/dashboard/npm-ci.stamp)
file(GLOB_RECURSE _sources CONFIGURE_DEPENDS ${_page}/src/* ${_page}/public/*)
list(FILTER _sources EXCLUDE REGEX "/src/gen/")
list(APPEND _sources ${_page}/index.html ${_page}/tsconfig.json ${_page}/vite.config.ts ${_page}/tools/generate.mjs)
file(GLOB _contract CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/proto/ddp/v1/*.proto)

add_custom_command(OUTPUT ${_installed}
  COMMAND ${NPM} ci --no-audit --no-fund --loglevel=error
  COMMAND ${CMAKE_COMMAND} -E touch ${_installed}
  DEPENDS ${_page}/package.json ${_page}/package-lock.json
  WORKING_DIRECTORY ${_page} COMMENT "npm ci for the dashboard" VERBATIM)
add_custom_command(OUTPUT ${DDP_DASHBOARD_ASSETS}
  COMMAND ${NPM} run --silent build -- --outDir ${_dist} --emptyOutDir --logLevel warn
  COMMAND ${Python3_EXECUTABLE} ${_embed} ${_dist} ${DDP_DASHBOARD_ASSETS}
  DEPENDS ${_installed} ${_sources} ${_contract} ${_embed}
  WORKING_DIRECTORY ${_page} COMMENT "Building the dashboard" VERBATIM)
