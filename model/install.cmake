# SPDX-License-Identifier: Apache-2.0
# `cmake --install`: the model as a library, and the program with what it loads; a package of each for Debian (cpack).
# The library is target rxnic::model of find_package(rxnic), and pkg-config names it rxnic. Nothing in the packages has
# an absolute path.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(rooms params types core engine ports blocks nic traces system)
add_library(rxnic_model INTERFACE)
target_link_libraries(rxnic_model INTERFACE rxnic_system)
foreach(room IN LISTS rooms ITEMS model options systemc)
  set_target_properties(rxnic_${room} PROPERTIES EXPORT_NAME ${room})
  install(TARGETS rxnic_${room} EXPORT rxnic ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}" COMPONENT model)
endforeach()
install(DIRECTORY "${PROJECT_SOURCE_DIR}/model" "${PROJECT_SOURCE_DIR}/traces" "${PROJECT_BINARY_DIR}/generated/model"
        DESTINATION include/rxnic COMPONENT model FILES_MATCHING PATTERN "*.h")
set(config "${CMAKE_INSTALL_LIBDIR}/cmake/rxnic")
install(EXPORT rxnic NAMESPACE rxnic:: FILE rxnicTargets.cmake DESTINATION "${config}" COMPONENT model)
configure_package_config_file("${CMAKE_CURRENT_LIST_DIR}/rxnicConfig.cmake.in" rxnicConfig.cmake
                              INSTALL_DESTINATION "${config}")
write_basic_package_version_file(rxnicConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES "${CMAKE_CURRENT_BINARY_DIR}/rxnicConfig.cmake" "${CMAKE_CURRENT_BINARY_DIR}/rxnicConfigVersion.cmake"
        DESTINATION "${config}" COMPONENT model)
list(REVERSE rooms)  # a static library stands before those that it needs
list(TRANSFORM rooms PREPEND "-lrxnic_" OUTPUT_VARIABLE libraries)
list(JOIN libraries " " libraries)
file(RELATIVE_PATH to_prefix "/${CMAKE_INSTALL_LIBDIR}/pkgconfig" /)
configure_file("${CMAKE_CURRENT_LIST_DIR}/rxnic.pc.in" rxnic.pc @ONLY)
install(FILES "${CMAKE_CURRENT_BINARY_DIR}/rxnic.pc" DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig" COMPONENT model)

if(RXNIC_BRIDGE)
  install(TARGETS rxnic RUNTIME DESTINATION bin COMPONENT program)
  install(TARGETS rxnic_verbs rxnic_device_files LIBRARY DESTINATION lib/rxnic COMPONENT program NAMELINK_SKIP)
  install(TARGETS rxnic_cm_agent RUNTIME DESTINATION lib/rxnic COMPONENT program)
  install(PROGRAMS "$<TARGET_FILE:rxnic_exercise>" DESTINATION lib/rxnic COMPONENT program OPTIONAL)  # when it is built
  install(FILES "${PROJECT_SOURCE_DIR}/build/page/page.js" "${PROJECT_SOURCE_DIR}/build/page/sweep.js"
          DESTINATION lib/rxnic COMPONENT program OPTIONAL)
  install(DIRECTORY "${PROJECT_BINARY_DIR}/rtl/" DESTINATION lib/rxnic/rtl COMPONENT program OPTIONAL
          FILES_MATCHING PATTERN "*.so" PATTERN "*_[0-9][0-9]" EXCLUDE PATTERN CMakeFiles EXCLUDE)
  install(DIRECTORY "${PROJECT_SOURCE_DIR}/scripts/rxnic_model" DESTINATION share/rxnic/scripts COMPONENT program
          PATTERN "__pycache__" EXCLUDE)
  install(FILES "${PROJECT_SOURCE_DIR}/bridge/rxnic/command/completion.bash" RENAME rxnic
          DESTINATION share/bash-completion/completions COMPONENT program)
  set(manual "${CMAKE_CURRENT_BINARY_DIR}/rxnic.1")
  add_custom_command(
    OUTPUT "${manual}"
    COMMAND sh -c "\"$1\" --manual >\"$2\"" sh "$<TARGET_FILE:rxnic>" "${manual}"
    DEPENDS rxnic
    VERBATIM)
  add_custom_target(rxnic_manual ALL DEPENDS "${manual}")
  install(FILES "${manual}" DESTINATION share/man/man1 COMPONENT program)
endif()

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME rxnic)
set(CPACK_PACKAGE_CONTACT "the rxnic project")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "cycle-level model of an RDMA NIC's receive path")
set(CPACK_COMPONENTS_ALL model)
if(RXNIC_BRIDGE)
  list(APPEND CPACK_COMPONENTS_ALL program)
endif()
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PROGRAM_PACKAGE_NAME rxnic)
set(CPACK_DEBIAN_PROGRAM_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_MODEL_PACKAGE_NAME librxnic-dev)
set(CPACK_DEBIAN_MODEL_PACKAGE_DEPENDS "libsystemc-dev, libfmt-dev, libtomlplusplus-dev, nlohmann-json3-dev, \
libpcap-dev, libdeflate-dev, zlib1g-dev, libzstd-dev, pkg-config")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
include(CPack)
