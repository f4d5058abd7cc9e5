; A debug record may speak of a value before that is computed; the function goes to MLIR all the same.
; RUN: farside-cc -O1 -ffarside-passes= -Rfarside -S -emit-llvm %s -o %t.ll 2>&1 | FileCheck %s
; CHECK-NOT: stays as clang made it
; CHECK: 0 stayed
; RUN: FileCheck %s --check-prefix=MADE < %t.ll
; MADE: define {{.*}}@early
; MADE: %sum = add i64
target triple = "x86_64-pc-linux-gnu"

define i64 @early(i64 %value, i64 %more) !dbg !3 {
    #dbg_value(i64 %sum, !6, !DIExpression(), !8)
  %sum = add i64 %value, %more, !dbg !8
    #dbg_value(i64 %sum, !6, !DIExpression(), !8)
  ret i64 %sum, !dbg !8
}

!llvm.dbg.cu = !{!0}
!llvm.module.flags = !{!2}
!0 = distinct !DICompileUnit(language: DW_LANG_C99, file: !1, producer: "clang", isOptimized: true, emissionKind: FullDebug)
!1 = !DIFile(filename: "early.c", directory: "/")
!2 = !{i32 2, !"Debug Info Version", i32 3}
!3 = distinct !DISubprogram(name: "early", scope: !1, file: !1, line: 1, type: !4, unit: !0, spFlags: DISPFlagDefinition, retainedNodes: !7)
!4 = !DISubroutineType(types: !5)
!5 = !{!9}
!6 = !DILocalVariable(name: "sum", scope: !3, file: !1, line: 1, type: !9)
!7 = !{!6}
!8 = !DILocation(line: 1, column: 1, scope: !3)
!9 = !DIBasicType(name: "long", size: 64, encoding: DW_ATE_signed)
