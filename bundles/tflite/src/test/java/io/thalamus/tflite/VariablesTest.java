// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tflite;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.thalamus.model.Model;
import io.thalamus.model.Operand;
import io.thalamus.model.Shape;
import io.thalamus.model.reader.ModelFile;
import io.thalamus.model.reader.ModelFormatException;
import java.lang.foreign.ValueLayout;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.tensorflow.lite.schema.BuiltinOperator;
import org.tensorflow.lite.schema.BuiltinOptions;
import org.tensorflow.lite.schema.TensorType;
import org.tensorflow.lite.schema.VarHandleOptions;

/** Variables, as constants and as states. */
class VariablesTest {
  private final TfliteFileBuilder file = new TfliteFileBuilder();

  private Model read() throws ModelFormatException {
    return TestFiles.read(file).model();
  }

  private int handle(String name) {
    int handle = file.tensor("handle of " + name, TensorType.RESOURCE, null);
    file.operator(
        BuiltinOperator.VAR_HANDLE,
        BuiltinOptions.VarHandleOptions,
        flat ->
            VarHandleOptions.createVarHandleOptions(
                flat, flat.createString(""), flat.createString(name)),
        new int[0],
        handle);
    return handle;
  }

  /** The graph that is called once, which sets a variable. */
  private void first(String name) {
    int handle = handle(name);
    int value = file.zeros("zeros", TensorType.FLOAT32, null, 1, 2);
    file.operator(BuiltinOperator.ASSIGN_VARIABLE, new int[] {handle, value}).graph(new int[0]);
  }

  @Test
  void variableThatIsSetOnceIsAConstant() throws ModelFormatException {
    int x = file.floats("x", 1, 2);
    int read = file.floats("read", 1, 2);
    int y = file.floats("y", 1, 2);
    file.callOnce();
    int handle = handle("w");
    file.operator(BuiltinOperator.READ_VARIABLE, new int[] {handle}, read)
        .operator(BuiltinOperator.ADD, new int[] {x, read}, y)
        .graph(new int[] {x}, y);
    first("w");
    Model model = read();
    assertEquals("ADD(x, zeros, 0) -> y", ModelText.of(model));
    assertEquals(1, model.main().inputIndexes().size());
  }

  @Test
  void variableThatIsSetInEachCallIsAnInputAndAnOutput() throws ModelFormatException {
    int x = file.floats("x", 1, 2);
    int read = file.floats("read", 1, 2);
    int sum = file.floats("sum", 1, 2);
    int y = file.floats("y", 1, 2);
    file.callOnce();
    int handle = handle("count");
    int again = handle("count");
    file.operator(BuiltinOperator.READ_VARIABLE, new int[] {handle}, read)
        .operator(BuiltinOperator.ADD, new int[] {read, x}, sum)
        .operator(BuiltinOperator.ASSIGN_VARIABLE, new int[] {handle, sum})
        .operator(BuiltinOperator.READ_VARIABLE, new int[] {again}, y)
        .graph(new int[] {x}, y);
    first("count");
    Model model = read();
    assertEquals("ADD(count, x, 0) -> count.next\nCAST(count.next) -> sum", ModelText.of(model));
    assertEquals("x", model.main().input(0).name());
    assertEquals("count", model.main().input(1).name());
    Operand state = model.main().input(1);
    assertEquals(Shape.of(1, 2), state.shape());
    assertEquals(state.type(), model.main().output(1).type());
  }

  /** Each of two rounds doubles a state, whose handle goes round. */
  @Test
  void stateChangesFromRoundToRound() throws ModelFormatException {
    int n = file.tensor("n", TensorType.INT32, null);
    int after = file.tensor("handle after", TensorType.RESOURCE, null);
    int y = file.floats("y", 1, 2);
    file.callOnce();
    int handle = handle("count");
    file.loop(2, 3, new int[] {file.scalar("start", 0), handle}, n, after)
        .operator(BuiltinOperator.READ_VARIABLE, new int[] {after}, y)
        .graph(new int[0], y);
    first("count");
    int i = file.tensor("i", TensorType.INT32, null);
    int given = file.tensor("given", TensorType.RESOURCE, null);
    int less = file.tensor("less", TensorType.BOOL, null);
    file.operator(BuiltinOperator.LESS, new int[] {i, file.scalar("two", 2)}, less)
        .graph(new int[] {i, given}, less);
    int j = file.tensor("j", TensorType.INT32, null);
    int passed = file.tensor("passed", TensorType.RESOURCE, null);
    int next = file.tensor("next", TensorType.INT32, null);
    int before = file.floats("before", 1, 2);
    int sum = file.floats("sum", 1, 2);
    file.operator(BuiltinOperator.READ_VARIABLE, new int[] {passed}, before)
        .operator(BuiltinOperator.ADD, new int[] {before, before}, sum)
        .operator(BuiltinOperator.ASSIGN_VARIABLE, new int[] {passed, sum})
        .operator(BuiltinOperator.ADD, new int[] {j, file.scalar("one", 1)}, next)
        .graph(new int[] {j, passed}, next, passed);
    assertEquals(
        "ADD(count, count, 0) -> sum\nADD(sum, sum, 0) -> count.next\nCAST(count.next) -> sum",
        ModelText.of(read()));
  }

  /** {@code count += x}, which is also the result; the graph that is called once follows. */
  private void counter() {
    int x = file.floats("x", 1, 2);
    int read = file.floats("read", 1, 2);
    int sum = file.floats("sum", 1, 2);
    file.callOnce();
    int handle = handle("count");
    file.operator(BuiltinOperator.READ_VARIABLE, new int[] {handle}, read)
        .operator(BuiltinOperator.ADD, new int[] {read, x}, sum)
        .operator(BuiltinOperator.ASSIGN_VARIABLE, new int[] {handle, sum})
        .graph(new int[] {x}, sum);
  }

  private void assertBeginsWith(float... values) throws ModelFormatException {
    ModelFile read = TestFiles.read(file);
    assertEquals(Set.of(1), read.firstValues().keySet());
    assertEquals("count", read.input(1).name());
    assertEquals(1, read.neededInputs());
    assertArrayEquals(
        TfliteFileBuilder.floatBytes(values),
        read.firstValue(1).orElseThrow().bytes().toArray(ValueLayout.JAVA_BYTE));
  }

  private int constant(float... values) {
    byte[] bytes = TfliteFileBuilder.floatBytes(values);
    return file.constant("first", TensorType.FLOAT32, null, bytes, 1, 2);
  }

  @Test
  void firstValueOfAStateIsToldBesideTheModel() throws ModelFormatException {
    counter();
    int handle = handle("count");
    file.operator(BuiltinOperator.ASSIGN_VARIABLE, new int[] {handle, constant(2.5f, -1)})
        .graph(new int[0]);
    assertBeginsWith(2.5f, -1);
  }

  /** The graph fills a tensor, sets another variable to it, and the state to what that holds. */
  @Test
  void firstValueMayBeDerived() throws ModelFormatException {
    counter();
    int other = handle("other");
    int handle = handle("count");
    int filled = file.floats("filled", 1, 2);
    int read = file.floats("read", 1, 2);
    int three =
        file.constant("three", TensorType.FLOAT32, null, TfliteFileBuilder.floatBytes(3), 1);
    file.operator(BuiltinOperator.FILL, new int[] {file.ints("sizes", 1, 2), three}, filled)
        .operator(BuiltinOperator.ASSIGN_VARIABLE, new int[] {other, filled})
        .operator(BuiltinOperator.READ_VARIABLE, new int[] {other}, read)
        .operator(BuiltinOperator.ASSIGN_VARIABLE, new int[] {handle, read})
        .graph(new int[0]);
    assertBeginsWith(3, 3);
  }

  @Test
  void zerosAreAFirstValueToo() throws ModelFormatException {
    counter();
    first("count");
    assertBeginsWith(0, 0);
  }

  @Test
  void stateThatTheFileDoesNotSetHasNoFirstValue() throws ModelFormatException {
    counter();
    file.graph(new int[0]);
    ModelFile read = TestFiles.read(file);
    assertEquals(Map.of(), read.firstValues());
    assertEquals(2, read.neededInputs());
  }

  @Test
  void firstValueThatOnlyAnExecutionTellsIsRefused() {
    counter();
    int handle = handle("count");
    int value = constant(2, 3);
    int sum = file.floats("sum", 1, 2);
    file.operator(BuiltinOperator.ADD, new int[] {value, value}, sum)
        .operator(BuiltinOperator.ASSIGN_VARIABLE, new int[] {handle, sum})
        .graph(new int[0]);
    String message = assertThrows(ModelFormatException.class, this::read).getMessage();
    assertTrue(
        message.endsWith("the first value of variable 'count' is not known beforehand"), message);
    assertEquals(1, message.lines().count());
  }

  @Test
  void variableWithoutAValueIsRefused() {
    int y = file.floats("y", 1, 2);
    int handle = handle("w");
    file.operator(BuiltinOperator.READ_VARIABLE, new int[] {handle}, y).graph(new int[0], y);
    assertEquals(
        "operator 1 READ_VARIABLE (output 'y'): variable 'w' has no value yet",
        assertThrows(ModelFormatException.class, this::read).getMessage());
  }
}
