// SPDX-License-Identifier: Apache-2.0
/** The command {@code nn:certify}, where Gogo is there. */
package io.thalamus.tck.command;
