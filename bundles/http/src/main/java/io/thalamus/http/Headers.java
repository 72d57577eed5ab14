// SPDX-License-Identifier: Apache-2.0
package io.thalamus.http;

import java.util.List;
import java.util.Optional;

/** The headers of a request. Names are compared without regard to case. Immutable. */
public interface Headers {
  /** Returns the first value of a header. */
  Optional<String> first(String name);

  /** Returns all values of a header, in order. */
  List<String> all(String name);
}
