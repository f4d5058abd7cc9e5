# find_package(farside): the header, as the target farside::farside. Nothing has to be linked.
if(NOT TARGET farside::farside)
  get_filename_component(_farside_prefix "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)
  add_library(farside::farside INTERFACE IMPORTED)
  set_target_properties(farside::farside PROPERTIES
    INTERFACE_INCLUDE_DIRECTORIES "${_farside_prefix}/include")
  unset(_farside_prefix)
endif()
