// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.registry;

import io.thalamus.model.ErrorStatus;
import io.thalamus.runtime.call.Answer;
import io.thalamus.runtime.call.Answer.Answered;
import io.thalamus.runtime.call.Answer.Failed;
import io.thalamus.runtime.call.Answer.Refused;
import io.thalamus.runtime.call.Answer.Unanswered;
import java.util.BitSet;

/**
 * The promise of a device for a model. A value, whose set nobody changes.
 *
 * @param operations the operations that it supports
 * @param reason why it does not support the others
 * @param isBroken whether it failed to answer
 */
public record Support(BitSet operations, String reason, boolean isBroken) {
  /** Returns what an answer promises for the operations of a graph, of which there are so many. */
  static Support of(Answer<BitSet> answer, int operations) {
    return switch (answer) {
      case Answered<BitSet>(BitSet promised)
          when promised == null || promised.length() > operations ->
          none("its answer does not have " + operations + " flags", true);
      case Answered<BitSet>(BitSet promised) ->
          new Support(promised, "it does not support it", false);
      case Failed<BitSet> failed when !failed.isBroken() ->
          none("it refused the model: " + failed.message(), false);
      case Refused<BitSet> refused when refused.status() == ErrorStatus.DEVICE_UNAVAILABLE ->
          none(refused.message(), false);
      case Unanswered<BitSet> unanswered -> none(unanswered.message(), true);
    };
  }

  private static Support none(String reason, boolean isBroken) {
    return new Support(new BitSet(), reason, isBroken);
  }
}
