// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tck.graph;

import io.thalamus.model.ExtensionOperationType;
import io.thalamus.model.OperandCode;
import io.thalamus.tck.reference.Evaluator;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import java.util.Set;

/** All operations that graphs are made of, in all types that are generated. */
final class Kinds {
  static final Set<OperandCode> FLOATS =
      EnumSet.of(OperandCode.TENSOR_FLOAT32, OperandCode.TENSOR_FLOAT16);
  static final Set<OperandCode> QUANTIZED =
      EnumSet.of(OperandCode.TENSOR_QUANT8_ASYMM, OperandCode.TENSOR_QUANT8_ASYMM_SIGNED);
  static final Set<OperandCode> INTS = EnumSet.of(OperandCode.TENSOR_INT32);
  static final Set<OperandCode> BOOLS = EnumSet.of(OperandCode.TENSOR_BOOL8);
  static final Set<OperandCode> NUMBERS = union(FLOATS, QUANTIZED);

  private final List<Kind> kinds = new ArrayList<>();

  private Kinds() {}

  static List<Kind> all() {
    Kinds kinds = new Kinds();
    ElementKinds.register(kinds);
    MoveKinds.register(kinds);
    WindowKinds.register(kinds);
    LineKinds.register(kinds);
    SearchKinds.register(kinds);
    return List.copyOf(kinds.kinds);
  }

  void add(String operation, Set<OperandCode> types, Kind.Grower grower) {
    types.forEach(type -> kinds.add(new Kind(operation, type, grower)));
  }

  /** Adds an operation of NNAPI, and that of its name on 8-bit integers which rounds otherwise. */
  void add(ExtensionOperationType other, Set<OperandCode> types, Kind.Grower grower) {
    add(other.name(), types, grower);
    add(Evaluator.name(other), other.name().equals("QUANTIZE") ? types : QUANTIZED, grower);
  }

  static Set<OperandCode> union(Set<OperandCode> a, Set<OperandCode> b) {
    Set<OperandCode> both = EnumSet.copyOf(a);
    both.addAll(b);
    return both;
  }
}
