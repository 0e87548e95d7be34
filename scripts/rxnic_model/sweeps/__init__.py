# SPDX-License-Identifier: Apache-2.0
"""`rxnic sweep`."""
