// SPDX-License-Identifier: Apache-2.0
package io.thalamus.operations;

import io.thalamus.model.FeatureLevel;
import io.thalamus.model.OperandCode;
import io.thalamus.model.OperandType;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;

/**
 * The operand types that one argument of an operation may have, some of which depend on the type T
 * of the operation's data. Immutable.
 *
 * @param choices the types, in the order in which messages name them; empty for any type at all
 */
public record ArgumentType(List<Choice> choices) {
  /** Float tensors. */
  public static final Set<OperandCode> FLOATS =
      Set.of(OperandCode.TENSOR_FLOAT32, OperandCode.TENSOR_FLOAT16);

  /** Tensors of 8-bit integers with a scale and a zero point. */
  public static final Set<OperandCode> QUANTIZED =
      Set.of(OperandCode.TENSOR_QUANT8_ASYMM, OperandCode.TENSOR_QUANT8_ASYMM_SIGNED);

  /** Made once: hundreds of arguments are of any type T, and a new process makes them all. */
  private static final Set<OperandCode> ALWAYS = Set.of(OperandCode.values());

  /** The type of the operation's data. */
  public static final ArgumentType T =
      new ArgumentType(List.of(new Choice(Optional.empty(), FeatureLevel.V1_0, ALWAYS)));

  /** Any type; something else than the signature decides. */
  public static final ArgumentType ANY = new ArgumentType(List.of());

  /** A float scalar of the precision of T: FLOAT16 for TENSOR_FLOAT16, else FLOAT32. */
  public static final ArgumentType REAL =
      of(OperandCode.FLOAT16)
          .when(Set.of(OperandCode.TENSOR_FLOAT16))
          .or(of(OperandCode.FLOAT32).unless(Set.of(OperandCode.TENSOR_FLOAT16)));

  /** A scalar that has the value of an element of T: FLOAT32, FLOAT16, or INT32 for all others. */
  public static final ArgumentType ELEMENT =
      REAL.when(FLOATS).or(of(OperandCode.INT32).unless(FLOATS));

  /** The bias of a sum of products of T: TENSOR_INT32 where T is quantized. */
  public static final ArgumentType BIAS =
      T.when(FLOATS).or(of(OperandCode.TENSOR_INT32).unless(FLOATS));

  /** Boxes, and other coordinates in an image: TENSOR_QUANT16_ASYMM where T is quantized. */
  public static final ArgumentType BOXES =
      T.unless(QUANTIZED).or(of(OperandCode.TENSOR_QUANT16_ASYMM).when(QUANTIZED));

  public ArgumentType {
    choices = List.copyOf(choices);
  }

  /**
   * A type that an argument may have.
   *
   * @param type the type; empty for T
   * @param since the least feature level that takes it
   * @param when the types T with which it is allowed
   */
  public record Choice(Optional<OperandType> type, FeatureLevel since, Set<OperandCode> when) {
    /**
     * Returns whether it is a choice where the operation's data, if it has any, is of this type.
     */
    boolean isFor(Optional<OperandCode> data) {
      return data.isEmpty() || when.contains(data.get());
    }

    private Choice restricted(Set<OperandCode> data, boolean isKept) {
      Set<OperandCode> left = EnumSet.noneOf(OperandCode.class);
      when.stream().filter(code -> data.contains(code) == isKept).forEach(left::add);
      return new Choice(type, since, Set.copyOf(left));
    }
  }

  /** Returns the type of an argument that has one of these types whatever T is. */
  public static ArgumentType of(OperandType... types) {
    List<Choice> choices = new ArrayList<>(types.length);
    for (OperandType type : types) {
      choices.add(new Choice(Optional.of(type), FeatureLevel.V1_0, ALWAYS));
    }
    return new ArgumentType(choices);
  }

  /** Returns the type of an argument that may have the types of this one or of another. */
  public ArgumentType or(ArgumentType other) {
    List<Choice> both = new ArrayList<>(choices);
    both.addAll(other.choices);
    return new ArgumentType(both);
  }

  /** Returns these types since a feature level. */
  public ArgumentType from(FeatureLevel level) {
    return new ArgumentType(choices.stream().map(c -> new Choice(c.type, level, c.when)).toList());
  }

  /** Returns these types, allowed only where T is one of {@code data}. */
  public ArgumentType when(Set<OperandCode> data) {
    return new ArgumentType(choices.stream().map(c -> c.restricted(data, true)).toList());
  }

  /** Returns these types, allowed only where T is none of {@code data}. */
  public ArgumentType unless(Set<OperandCode> data) {
    return new ArgumentType(choices.stream().map(c -> c.restricted(data, false)).toList());
  }

  /** Returns whether an argument may have this type, whatever T is. */
  boolean mayBe(OperandType actual) {
    for (int i = 0; i < choices.size(); i++) {
      Optional<OperandType> type = choices.get(i).type();
      if (type.isEmpty() || type.get().equals(actual)) {
        return true;
      }
    }
    return choices.isEmpty();
  }

  /** Returns the choices where the operation's data is of this type; all where it has none. */
  public List<Choice> choices(Optional<OperandCode> data) {
    return choices.stream().filter(choice -> choice.isFor(data)).toList();
  }

  /** Returns the types for people to read. */
  public String text() {
    return choices.isEmpty()
        ? "any type"
        : choices.stream()
            .map(choice -> choice.type().map(OperandType::text).orElse("T"))
            .distinct()
            .collect(Collectors.joining(" or "));
  }
}
