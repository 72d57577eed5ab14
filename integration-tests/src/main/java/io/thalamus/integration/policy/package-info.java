// SPDX-License-Identifier: Apache-2.0
/** A partition policy as a stranger would write it: the code of a bundle that a test installs. */
package io.thalamus.integration.policy;
