# SPDX-License-Identifier: Apache-2.0
# usage: cmake -DVERILATOR=PROGRAM -DBLOCK=NAME -DPREFIX=NAME -DOUT=DIR -DINCLUDE=DIR -DSOURCES=FILE;...
#              -DPARAMETERS=NAME=VALUE;... -P verilate.cmake
# Verilates a block into one translation unit, OUT/PREFIX__all.cpp.
set(generics "")
foreach(parameter IN LISTS PARAMETERS)
  list(APPEND generics "-G${parameter}")
endforeach()
file(REMOVE_RECURSE "${OUT}")
file(MAKE_DIRECTORY "${OUT}")
# -Wall, with the one exception of the packages: no block uses all of their constants.
execute_process(
  COMMAND "${VERILATOR}" --cc -O3 --output-split 0 --assert --coverage-user -Wall -Wno-UNUSEDPARAM -I${INCLUDE}
          --top-module ${BLOCK} --prefix ${PREFIX} -Mdir ${OUT} ${generics} ${SOURCES}
  COMMAND_ERROR_IS_FATAL ANY)
file(GLOB units "${OUT}/*.cpp")
set(text "")
foreach(unit IN LISTS units)
  string(APPEND text "#include \"${unit}\"\n")
endforeach()
file(WRITE "${OUT}/${PREFIX}__all.cpp" "${text}")
