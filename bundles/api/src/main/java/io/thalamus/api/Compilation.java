// SPDX-License-Identifier: Apache-2.0
package io.thalamus.api;

import io.thalamus.model.Model;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import org.osgi.annotation.versioning.ProviderType;

/**
 * A model prepared for execution. It outlives the devices it was prepared on. Thread-safe; owned by
 * whoever compiled it.
 */
@ProviderType
public interface Compilation extends AutoCloseable {
  /** The model that was compiled. */
  Model model();

  /** Returns the present plan: the device of each operation. */
  Plan plan();

  /**
   * Returns true if a device came or went and the compilation still waits to be planned again, or
   * is being planned. Executions go on meanwhile; {@link #plan} may change once this is no longer
   * so.
   */
  boolean isReplanning();

  /**
   * Returns the part of the cache in each step of the current plan that a device executes, in the
   * order of their preparation.
   */
  List<CacheOutcome> caching();

  /**
   * Returns about how many bytes it holds that no other compilation shares, those of one execution
   * included. What a device does not count is taken for as large as the constants of the model.
   */
  default long ownBytes() {
    return 0;
  }

  /**
   * A new execution, to be used once.
   *
   * @throws IllegalStateException where the compilation is closed
   */
  Execution createExecution();

  /**
   * Executes once in the calling thread, and makes room for the outputs. The answer's tensors are
   * the caller's. {@link Inference} does it many times in the same buffers.
   *
   * @param inputs one for each input of the model, in its order
   * @throws NeuralNetworksException with BAD_DATA if an input is missing or does not fit; else with
   *     the report's code and message
   * @throws IllegalStateException if the compilation is closed
   */
  default Answer run(Tensor... inputs) throws NeuralNetworksException {
    return new Inference(this).run(Arrays.asList(inputs));
  }

  /**
   * Executes once, as above.
   *
   * @param inputs by their names in the model
   * @throws NeuralNetworksException as above, and with BAD_DATA if a name is unknown
   */
  default Answer run(Map<String, Tensor> inputs) throws NeuralNetworksException {
    return new Inference(this).run(inputs);
  }

  /** Opens a burst for one execution at a time, as {@link #createBurst(BurstOptions)} does. */
  default Burst createBurst() {
    return createBurst(BurstOptions.DEFAULT);
  }

  /**
   * Opens a burst, which the caller owns. Steps on devices that cannot be sent requests are
   * executed synchronously, and counted.
   *
   * @throws IllegalStateException where the compilation is closed
   */
  Burst createBurst(BurstOptions options);

  /** Ends running executions' claim on it, then gives everything back. */
  @Override
  void close();
}
