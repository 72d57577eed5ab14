// SPDX-License-Identifier: Apache-2.0
package io.thalamus.operations;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.thalamus.model.ExtensionOperationType;
import io.thalamus.model.FeatureLevel;
import io.thalamus.model.Lifetime;
import io.thalamus.model.Lifetime.ConstantCopy;
import io.thalamus.model.Operand;
import io.thalamus.model.OperandCode;
import io.thalamus.model.OperationCode;
import io.thalamus.model.OperationType;
import io.thalamus.model.Quantization;
import io.thalamus.model.Shape;
import io.thalamus.operations.extension.ThalamusExtension;
import java.lang.reflect.Field;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashSet;
import java.util.List;
import java.util.Random;
import java.util.Set;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;

/** The definitions as a whole: none is missing, and none stumbles over nonsense. */
class OperationCatalogTest {
  private static final OperandCode[] TENSORS = {
    OperandCode.TENSOR_FLOAT32,
    OperandCode.TENSOR_FLOAT16,
    OperandCode.TENSOR_INT32,
    OperandCode.TENSOR_QUANT8_ASYMM,
    OperandCode.TENSOR_QUANT8_ASYMM_SIGNED,
    OperandCode.TENSOR_BOOL8
  };
  private static final int[] DIMENSIONS = {0, 1, 1, 2, 3, 4, 4, 7};
  private static final int[] SCALARS = {
    0, 0, 1, 1, 1, 2, 2, 3, 4, -1, -2, -4, 7, 100, Integer.MAX_VALUE, Integer.MIN_VALUE
  };

  @Test
  void definesAllOfNnapi() {
    Set<OperationType> all = Set.of(OperationCode.values());
    assertEquals(102, all.size());
    Set<OperationType> types = OperationCatalog.standard().types();
    assertEquals(
        all, types.stream().filter(OperationCode.class::isInstance).collect(Collectors.toSet()));
  }

  @Test
  void refusesTwoDefinitionsOfOne() {
    OperationCatalog standard = OperationCatalog.standard();
    List<OperationDefinition> again = List.of(standard.find(OperationCode.ADD).orElseThrow());
    assertThrows(IllegalArgumentException.class, () -> standard.with(again));

    OperationDefinition own =
        ElementwiseDefinition.of(
            new ExtensionOperationType("com.example", 0, "OWN"),
            Signature.since(FeatureLevel.V1_2));
    OperationCatalog more = standard.with(List.of(own));
    assertSame(own, more.find(own.type()).orElseThrow());
    assertEquals(standard.types().size() + 1, more.types().size());
    assertThrows(IllegalArgumentException.class, () -> more.with(List.of(own)));
    assertThrows(IllegalArgumentException.class, () -> standard.with(List.of(own, own)));
  }

  @Test
  void familiesDefineTheirOperationsAndNoOthers() {
    for (OperationType type : OperationCatalog.standard().types()) {
      List<OperationType> family = defined(type);
      assertTrue(family.contains(type), type.text());
      for (OperationType other : family) {
        assertEquals(family, defined(other), other.text());
      }
      assertEquals(family.size(), Set.copyOf(family).size(), family.toString());
    }
  }

  private static List<OperationType> defined(OperationType type) {
    return StandardOperations.family(type).stream().map(OperationDefinition::type).toList();
  }

  @Test
  void anOperationOfTheExtensionIsFoundByItsCode() throws IllegalAccessException {
    Set<Object> constants = new HashSet<>();
    for (Field field : ThalamusExtension.class.getFields()) {
      if (field.getType() == ExtensionOperationType.class) {
        constants.add(field.get(null));
      }
    }
    List<ExtensionOperationType> types = ThalamusExtension.types();
    assertEquals(constants, Set.copyOf(types));
    for (int code = 0; code < types.size(); code++) {
      assertEquals(code, types.get(code).code());
      OperationType renamed = new ExtensionOperationType(ThalamusExtension.NAME, code, "RENAMED");
      assertEquals(types.get(code), OperationCatalog.standard().find(renamed).orElseThrow().type());
    }
    OperationType next =
        new ExtensionOperationType(ThalamusExtension.NAME, types.size(), "NO_SUCH");
    assertTrue(OperationCatalog.standard().find(next).isEmpty());
  }

  @Test
  void nonsenseIsRefusedNotStumbledOver() {
    long seed = 61;
    System.out.println("nonsense: seed " + seed);
    Random random = new Random(seed);
    int valid = 0;
    int resolved = 0;
    int overflown = 0;
    // In an order that the seed alone decides: a set has another one in each process.
    List<OperationType> types =
        OperationCatalog.standard().types().stream()
            .sorted(Comparator.comparing(OperationType::text))
            .toList();
    for (OperationType type : types) {
      OperationDefinition definition = OperationCatalog.standard().find(type).orElseThrow();
      for (int i = 0; i < 4000; i++) {
        OperationView view = nonsense(type, random);
        try {
          definition.validate(view);
          valid++;
          if (isReady(definition, view)) {
            OperationView shaped = view.withOutputShapes(definition.infer(view));
            definition.kernelType(shaped);
            definition.resolve(shaped);
            resolved++;
          }
        } catch (ValidationException e) {
          assertTrue(!e.getMessage().isEmpty());
        } catch (ArithmeticException e) {
          overflown++; // what every caller takes for a refusal
        } catch (RuntimeException e) {
          throw new AssertionError(view + " makes " + type.text() + " throw " + e, e);
        }
      }
    }
    System.out.println(
        valid + " accidentally valid, " + resolved + " resolved, " + overflown + " too large");
    assertTrue(resolved > 100);
  }

  private static boolean isReady(OperationDefinition definition, OperationView view) {
    for (int i = 0; i < view.inputs().size(); i++) {
      OperandView input = view.input(i);
      if (!input.isOmitted()
          && (!input.isRankKnown()
              || (definition.needsValue(view, i) && input.value().isEmpty()))) {
        return false;
      }
    }
    return view.outputs().size() > 0;
  }

  /** Operands of one data type for the most part, with scalars behind them. */
  private static OperationView nonsense(OperationType type, Random random) {
    OperandCode data = TENSORS[random.nextInt(TENSORS.length)];
    int rank = 1 + random.nextInt(5);
    int tensors = random.nextInt(4);
    int scalars = random.nextInt(12);
    List<OperandView> inputs = new ArrayList<>();
    for (int i = 0; i < tensors; i++) {
      inputs.add(tensor(random.nextInt(4) == 0 ? any(random) : data, rank, random));
    }
    for (int i = 0; i < scalars; i++) {
      inputs.add(scalar(i, scalars, data, random));
    }
    List<OperandView> outputs = new ArrayList<>();
    for (int i = random.nextInt(6) == 0 ? random.nextInt(5) : 1; i > 0; i--) {
      outputs.add(tensor(random.nextInt(6) == 0 ? any(random) : data, 0, random));
    }
    return new OperationView(type, inputs, outputs);
  }

  private static OperandCode any(Random random) {
    return TENSORS[random.nextInt(TENSORS.length)];
  }

  private static OperandView tensor(OperandCode type, int usualRank, Random random) {
    int rank = usualRank == 0 ? 0 : random.nextInt(4) == 0 ? random.nextInt(5) : usualRank;
    int[] dimensions = new int[rank];
    for (int i = 0; i < rank; i++) {
      dimensions[i] = DIMENSIONS[random.nextInt(DIMENSIONS.length)];
    }
    Shape shape = Shape.of(dimensions);
    boolean isQuantized =
        type == OperandCode.TENSOR_QUANT8_ASYMM || type == OperandCode.TENSOR_QUANT8_ASYMM_SIGNED;
    Quantization quantization =
        isQuantized ? Quantization.of(random.nextInt(3) == 0 ? 0.5f : 1f, 0) : Quantization.NONE;
    Lifetime lifetime = random.nextInt(20) == 0 ? Lifetime.NO_VALUE : Lifetime.TEMPORARY_VARIABLE;
    if (rank > 0 && random.nextInt(3) == 0) {
      ByteBuffer value =
          ByteBuffer.allocate((int) shape.elementCount() * type.elementSize())
              .order(ByteOrder.LITTLE_ENDIAN);
      while (value.remaining() >= 4) {
        value.putInt(SCALARS[random.nextInt(SCALARS.length)]);
      }
      lifetime = new ConstantCopy(value.array());
    }
    return OperandView.of(new Operand(type, shape, quantization, lifetime, ""));
  }

  private static OperandView scalar(int index, int count, OperandCode data, Random random) {
    ByteBuffer value = ByteBuffer.allocate(4).order(ByteOrder.LITTLE_ENDIAN);
    OperandCode type = OperandCode.INT32;
    int chance = random.nextInt(10);
    if (chance == 0 || (index == count - 1 && chance < 4)) {
      type = OperandCode.BOOL;
      value = ByteBuffer.allocate(1).put((byte) random.nextInt(2));
    } else if (chance == 1) {
      boolean isHalf = data == OperandCode.TENSOR_FLOAT16;
      type = isHalf ? OperandCode.FLOAT16 : OperandCode.FLOAT32;
      value = isHalf ? ByteBuffer.allocate(2) : value.putFloat(random.nextInt(5) - 1);
    } else {
      value.putInt(SCALARS[random.nextInt(SCALARS.length)]);
    }
    Lifetime lifetime =
        random.nextInt(30) == 0 ? Lifetime.NO_VALUE : new ConstantCopy(value.array());
    return OperandView.of(new Operand(type, Shape.NONE, Quantization.NONE, lifetime, ""));
  }
}
